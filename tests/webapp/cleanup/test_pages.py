"""Pages of clean-up plans: what they show, and who may press what."""

import csv
import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import person
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.worlds import World
from webapp.cleanup import orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.paging import files_page
from webapp.cleanup.plan_reader import reader_of
from webapp.storage.models import RootFigures


@pytest.fixture
def viewer(db: None) -> Client:
    return signed_in("vera")


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in("olga", operator=True)


@pytest.fixture
def admin(db: None) -> Client:
    return signed_in("ada", is_superuser=True)


def signed_in(name: str, *, operator: bool = False, is_superuser: bool = False) -> Client:
    user = person(name, operator=operator)
    user.is_superuser = is_superuser
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def plan(audited: World) -> CleanupPlan:
    return stored.made(audited)


def address(plan: CleanupPlan, name: str = "cleanup-plan", *more: str) -> str:
    return reverse(name, args=(plan.pk, *more))


def approve(client: Client, plan: CleanupPlan, name: str | None = None) -> list[str]:
    answer = client.post(
        address(plan, "cleanup-plan-approve"), {"name": plan.short_name if name is None else name}
    )
    plan.refresh_from_db()
    return [str(message) for message in get_messages(answer.wsgi_request)]


def test_a_plan_shows_each_file_with_its_proof(
    viewer: Client, plan: CleanupPlan, orphan: Path
) -> None:
    page = viewer.get(address(plan)).content.decode()
    assert str(orphan) in page and plan.name in page
    assert "Two audits found nothing that refers to it" in page
    assert "_metadata</code> read" in page


def test_the_list_shows_plans_and_what_was_not_made(viewer: Client, plan: CleanupPlan) -> None:
    CleanupPlan.objects.update(trouble="no such quarantine", state=PlanState.REFUSED)
    page = viewer.get(reverse("cleanup-plans")).content.decode()
    assert plan.short_name in page and "no such quarantine" in page


def test_a_plan_without_a_file_does_not_wait_for_approval(viewer: Client, audited: World) -> None:
    RootFigures.objects.update(cleanable=False)
    plan = stored.made(audited)
    assert (plan.files, plan.state) == (0, PlanState.PLANNED)
    for page in (viewer.get(reverse("cleanup-plans")), viewer.get(address(plan))):
        assert (
            "holds no file" in page.content.decode()
            and "waits for approval" not in page.content.decode()
        )


def test_an_operator_asks_for_a_plan_and_the_workers_make_it(
    operator: Client, audited: World
) -> None:
    answer = operator.post(reverse("cleanup-plan-make"), {"root": audited.uri})
    plan = CleanupPlan.objects.get()
    assert (
        answer.url == address(plan)
        and plan.state == PlanState.BUILDING
        and plan.created_name == "olga"
    )
    assert b"being made" in operator.get(address(plan)).content
    assert stored.done(plan).files == 1


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_only_who_may_approves(
    role: str, request: pytest.FixtureRequest, plan: CleanupPlan
) -> None:
    said = approve(request.getfixturevalue(role), plan)
    assert plan.state == PlanState.PLANNED and "administrator" in said[0]


def test_an_administrator_approves_by_typing_the_plans_name(
    admin: Client, plan: CleanupPlan
) -> None:
    assert "Type" in approve(admin, plan, "yes")[0] and plan.state == PlanState.PLANNED
    assert "approved" in approve(admin, plan)[-1]
    assert (plan.state, plan.approved_name, plan.approved_through) == (
        PlanState.APPROVED,
        "ada",
        "page",
    )


def test_from_approval_to_undo_by_the_page(admin: Client, plan: CleanupPlan, orphan: Path) -> None:
    approve(admin, plan)
    admin.post(address(plan, "cleanup-plan-order", "apply"))
    stored.done(plan)
    page = admin.get(address(plan)).content.decode()
    assert (
        not orphan.exists()
        and "In quarantine" in page
        and str(Path(plan.folder)) not in page
        and orphan.name in page
    )
    admin.post(address(plan, "cleanup-plan-order", "undo"))
    stored.done(plan)
    assert orphan.exists() and "Put back where it was" in admin.get(address(plan)).content.decode()


def test_an_order_out_of_turn_is_refused_with_a_reason(admin: Client, plan: CleanupPlan) -> None:
    answer = admin.post(address(plan, "cleanup-plan-order", "apply"), follow=True)
    assert b"is not approved" in answer.content


def test_a_plan_whose_files_are_damaged_says_so(viewer: Client, plan: CleanupPlan) -> None:
    (Path(plan.folder) / "manifest.json").write_text("{}")
    assert b"was changed after the plan was made" in viewer.get(address(plan)).content


def test_progress_asks_again_while_it_is_at_work_and_then_fetches_the_page(
    viewer: Client, plan: CleanupPlan
) -> None:
    CleanupPlan.objects.update(
        state=PlanState.APPLYING,
        progress={"apply": {"quarantined": 3, "chunks": 9, "chunks_done": 4}},
    )
    working = viewer.get(address(plan, "cleanup-plan-progress"))
    table = re.search(r"<table.*?</table>", working.content.decode(), re.DOTALL)
    assert table and "Applied</caption>" in table[0] and table[0].count("<tbody>") == 1
    assert (
        b"every 3s" in working.content
        and b"4 of 9" in working.content
        and "HX-Refresh" not in working
    )
    CleanupPlan.objects.update(state=PlanState.QUARANTINED)
    assert viewer.get(address(plan, "cleanup-plan-progress"))["HX-Refresh"] == "true"


def test_files_and_journal_are_downloads(admin: Client, plan: CleanupPlan, orphan: Path) -> None:
    orders.approve(plan, person_of(admin), timezone.now())
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)

    def downloaded(*what: str) -> list[dict[str, str]]:
        body = b"".join(admin.get(address(plan, *what)).streaming_content).decode()  # type: ignore[attr-defined]
        return list(csv.DictReader(io.StringIO(body)))

    files = downloaded("cleanup-plan-export")
    journal = downloaded("cleanup-journal-export", "apply")
    assert [row["path"] for row in files] == [row["path"] for row in journal] == [f"file:{orphan}"]
    assert journal[0]["outcome"] == "quarantined"


def test_the_page_shows_the_first_files_and_the_api_all_chunk_by_chunk(
    viewer: Client, audited: World, tmp_path: Path
) -> None:
    for _ in range(230):
        audited.file(audited.job(1) / "shared", size=1)
    stored.StorageAudit.objects.all().delete()
    stored.audit_of(audited, tmp_path / "more")
    plan = stored.made(audited)
    assert len(viewer.get(address(plan)).context["file_rows"]) == 50
    page = files_page(reader_of(plan), "9999.x")
    assert len({row["path"] for row in page.rows}) == 231 and (page.next, page.previous) == ("", "")


def test_the_page_fills_its_files_from_all_parts_of_the_plan(
    viewer: Client, audited: World, tmp_path: Path
) -> None:
    audited.checkpoint(2, 1, [audited.file(audited.job(2) / "shared")], waste=True)
    stored.StorageAudit.objects.all().delete()
    stored.audit_of(audited, tmp_path / "more")
    plan = stored.made(audited, waste=True)
    assert len(reader_of(plan).manifest.parts) > 1
    assert len(viewer.get(address(plan)).context["file_rows"]) == plan.files


def test_chunks_follow_each_other() -> None:
    reader: Any = SimpleNamespace(
        manifest=SimpleNamespace(chunks=3), page=lambda chunk: [{"path": chunk}]
    )
    pages = [files_page(reader, asked) for asked in ("", "1", "2", "3")]
    assert [page.rows[0]["path"] for page in pages] == [0, 1, 2, 0]
    assert [(page.previous, page.next) for page in pages[:3]] == [("", "1"), ("0", "2"), ("1", "")]


def person_of(client: Client):
    from webapp.accounts.models import User

    return User.objects.get(pk=client.session["_auth_user_id"])
