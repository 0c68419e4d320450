"""Plans at the command line: what is printed, and exit codes."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.webapp.builders import person
from tests.webapp.cleanup.worlds import World, date
from webapp.cleanup import orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import PlanActionRefused
from webapp.cleanup.management.commands import approve_cleanup
from webapp.cleanup.models import CleanupPlan

Run = Callable[..., str]


@pytest.fixture
def run(audited: World) -> Run:
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command(*arguments, stdout=out)
        return out.getvalue()

    return run


@pytest.fixture
def plan(run: Run) -> CleanupPlan:
    run("plan_cleanup")
    return CleanupPlan.objects.get()


def approve(plan: CleanupPlan) -> None:
    user = person("ada")
    user.is_superuser = True
    user.save()
    orders.approve(plan, user, timezone.now())


def code_of(run: Run, *arguments: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as refusal:
        run(*arguments)
    return refusal.value.returncode, str(refusal.value)


def test_a_plan_is_made_and_says_what_to_do_next(run: Run, audited: World, orphan: Path) -> None:
    told = run("plan_cleanup", audited.uri, "--files")
    plan = CleanupPlan.objects.get()
    assert plan.name in told and str(orphan) in told and "Nothing was touched" in told
    assert orphan.exists() and plan.state == PlanState.PLANNED


def test_json_has_the_plan_and_a_line_for_each_file(run: Run, orphan: Path) -> None:
    head, file = [json.loads(line) for line in run("plan_cleanup", "--json").splitlines()]
    assert head["files"] == 1 and file["path"] == f"file:{orphan}" and file["age_ms"] > 0


def test_a_root_that_no_audit_has_seen_is_refused(run: Run) -> None:
    code, said = code_of(run, "plan_cleanup", "/somewhere/else")
    assert code == 2 and "audit_storage" in said


def test_without_a_flag_nothing_is_touched(run: Run, plan: CleanupPlan, orphan: Path) -> None:
    told = run("apply_cleanup", plan.short_name)
    assert "dry run" in told and "1 files" in told and "not approved" in told
    date(orphan, timezone.now())
    assert json.loads(run("apply_cleanup", plan.short_name, "--json"))["changed"] == 1
    assert orphan.exists()


def test_an_unapproved_plan_is_not_applied(run: Run, plan: CleanupPlan, orphan: Path) -> None:
    code, said = code_of(run, "apply_cleanup", plan.short_name, "--apply")
    assert code == 3 and "not approved" in said and orphan.exists()


def test_apply_and_undo_show_what_became_of_the_files(
    run: Run, plan: CleanupPlan, orphan: Path
) -> None:
    approve(plan)
    assert (
        "In quarantine" in run("apply_cleanup", plan.short_name, "--apply") and not orphan.exists()
    )
    code, said = code_of(run, "apply_cleanup", plan.short_name, "--purge")
    assert code == 3 and "can be undone until" in said
    assert (
        json.loads(run("apply_cleanup", plan.short_name, "--undo", "--json"))["undo"]["restored"]
        == 1
        and orphan.exists()
    )


def test_what_is_done_is_not_done_again_and_is_no_error(
    run: Run, plan: CleanupPlan, orphan: Path
) -> None:
    approve(plan)
    first = run("apply_cleanup", plan.short_name, "--apply", "--json")
    assert run("apply_cleanup", plan.short_name, "--apply", "--json") == first
    assert "in quarantine already: there is nothing left to do" in run(
        "apply_cleanup", plan.short_name, "--apply"
    )
    CleanupPlan.objects.update(purge_at=timezone.now())
    first = run("apply_cleanup", plan.short_name, "--purge", "--json")
    assert json.loads(first)["state"] == "purged"
    assert run("apply_cleanup", plan.short_name, "--purge", "--json") == first
    code, said = code_of(run, "apply_cleanup", plan.short_name, "--undo")
    assert code == 3 and "it is purged" in said and not orphan.exists()


def test_a_purge_that_a_worker_ends_after_the_plan_was_read_is_no_error(
    run: Run, plan: CleanupPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_order: object) -> None:
        CleanupPlan.objects.update(state=PlanState.PURGED)
        raise PlanActionRefused("Plan cannot be purged: it is purged.")

    monkeypatch.setitem(orders._ORDERS, "purge", too_late)
    assert (
        json.loads(run("apply_cleanup", plan.short_name, "--purge", "--json"))["state"] == "purged"
    )


def test_doubt_that_stopped_a_worker_is_exit_code_1(
    run: Run, plan: CleanupPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(of: CleanupPlan, *_order: object) -> None:
        of.state, of.trouble = PlanState.HALTED, "A checkpoint cannot be read."
        of.save()

    monkeypatch.setitem(orders._ORDERS, "apply", stopped)
    assert code_of(run, "apply_cleanup", plan.short_name, "--apply") == (
        1,
        "A checkpoint cannot be read.",
    )


def test_doubt_is_exit_code_1(run: Run, plan: CleanupPlan, audited: World, orphan: Path) -> None:
    approve(plan)
    audited.reasons = ["in_doubt"]
    code, said = code_of(run, "apply_cleanup", plan.short_name, "--apply")
    assert code == 1 and "in_doubt" in said and orphan.exists()


@pytest.mark.parametrize("name", ["", "abc", "deadbeef00", "%", "x" * 64])
def test_what_names_no_plan_is_refused(run: Run, plan: CleanupPlan, name: str) -> None:
    assert code_of(run, "apply_cleanup", name, "--apply")[0] == 2


def test_a_person_approves_by_signing_in(
    run: Run, plan: CleanupPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    person("olga", operator=True)
    monkeypatch.setenv(approve_cleanup.VARIABLE, "wrong")
    assert code_of(run, "approve_cleanup", plan.short_name, "--user", "olga")[0] == 3
    monkeypatch.setenv(approve_cleanup.VARIABLE, "correct horse battery")
    assert "administrator" in code_of(run, "approve_cleanup", plan.short_name, "--user", "olga")[1]
    user = person("ada")
    user.is_superuser = True
    user.save()
    assert "ada approved" in run("approve_cleanup", plan.short_name, "--user", "ada")
