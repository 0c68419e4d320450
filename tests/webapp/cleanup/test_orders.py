"""Who may ask what of a plan, and when; and what the workers then do."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import person
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.worlds import World
from webapp.cleanup import orders, planning
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import Halted, PlanActionRefused, PlanRefused
from webapp.cleanup.models import CleanupPlan
from webapp.storage.models import AuditDoubt, StorageAudit, StorageRoot
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun


def admin(name: str = "ada"):
    user = person(name)
    user.is_superuser = True
    user.save()
    return user


def approved(world: World, **options: bool) -> CleanupPlan:
    plan = stored.made(world, **options)
    orders.approve(plan, admin(), timezone.now())
    return plan


def test_a_plan_is_made_by_the_workers_and_waits_for_approval(audited: World) -> None:
    plan = stored.made(audited)
    assert (plan.state, plan.files) == (PlanState.PLANNED, 1)
    assert plan.name and plan.summary["roots"][0]["files"] == 1


def test_an_approved_plan_is_applied_and_says_who_ordered_it(audited: World, orphan: Path) -> None:
    plan = approved(audited)
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)
    assert not orphan.exists()
    assert plan.state == PlanState.QUARANTINED and plan.purge_at > timezone.now()
    assert plan.counts("apply")["quarantined"] == 1
    assert PipelineRun.objects.filter(key=orders.key_of(plan), state="done").count() == 2


def test_a_plan_all_of_whose_files_were_skipped_says_so_and_has_nothing_to_undo_or_purge(
    operator: Client, audited: World, orphan: Path
) -> None:
    plan = approved(audited)
    orphan.write_bytes(orphan.read_bytes() + b"written to since")
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)
    assert orphan.exists()
    assert (plan.state, plan.purge_at) == (PlanState.UNMOVED, None)
    page = operator.get(reverse("cleanup-plan", args=(plan.pk,))).content.decode()
    assert "moved none of its 1 files" in page
    assert "in quarantine</span>" not in page and "purged at" not in page and "Undo…" not in page


def test_nothing_is_applied_without_approval(audited: World, orphan: Path) -> None:
    plan = stored.made(audited)
    with pytest.raises(PlanActionRefused, match="not approved"):
        orders.start_apply(plan, "olga", timezone.now())
    CleanupPlan.objects.update(state=PlanState.APPLYING)
    with pytest.raises(Halted, match="not approved"):
        stored.done(plan)
    assert orphan.exists()


@pytest.mark.parametrize("operator", [False, True])
def test_viewers_and_operators_may_not_approve(audited: World, operator: bool) -> None:
    plan = stored.made(audited)
    with pytest.raises(PlanActionRefused, match="administrator"):
        orders.approve(plan, person(operator=operator), timezone.now())
    plan.refresh_from_db()
    assert plan.approved_at is None


def test_whoever_was_given_the_permission_may_approve(audited: World) -> None:
    plan, user = stored.made(audited), person()
    user.user_permissions.add(Permission.objects.get(codename="approve_cleanupplan"))
    orders.approve(plan, type(user).objects.get(pk=user.pk), timezone.now())
    assert (plan.state, plan.approved_name) == (PlanState.APPROVED, "vera")


def test_people_who_were_blocked_may_not_approve(audited: World) -> None:
    plan, user = stored.made(audited), admin()
    user.is_active = False
    with pytest.raises(PlanActionRefused):
        orders.approve(plan, user, timezone.now())


def test_an_expired_plan_is_neither_approved_nor_applied(audited: World, orphan: Path) -> None:
    plan = stored.made(audited)
    with pytest.raises(PlanActionRefused, match="expired"):
        orders.approve(plan, admin(), plan.expires_at)
    orders.approve(plan, admin("eve"), timezone.now())
    with pytest.raises(PlanActionRefused, match="expired"):
        orders.start_apply(plan, "olga", plan.expires_at)
    assert orphan.exists()


def test_a_withdrawn_plan_stays_withdrawn(audited: World) -> None:
    plan = approved(audited)
    orders.withdraw(plan, "olga", timezone.now())
    with pytest.raises(PlanActionRefused, match="withdrawn"):
        orders.start_apply(plan, "olga", timezone.now())


def test_a_plan_stopped_in_doubt_is_applied_when_the_doubt_is_settled(
    audited: World, orphan: Path
) -> None:
    plan = approved(audited)
    audited.reasons = ["in_doubt"]
    orders.start_apply(plan, "olga", timezone.now())
    with pytest.raises(Halted):
        stored.done(plan)
    plan.refresh_from_db()
    assert plan.state == PlanState.HALTED and "in_doubt" in plan.trouble and orphan.exists()
    assert orders.key_of(plan) not in registry.intervals_s()
    audited.reasons = []
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)
    assert plan.state == PlanState.QUARANTINED and not orphan.exists() and not plan.trouble


def test_a_quarantine_is_purged_when_its_time_is_over_and_not_before(
    audited: World, orphan: Path
) -> None:
    plan = approved(audited)
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)
    with pytest.raises(PlanActionRefused, match="can be undone until"):
        orders.start_purge(plan, "olga", timezone.now())
    assert orders.key_of(plan) not in registry.intervals_s()
    CleanupPlan.objects.update(purge_at=timezone.now() - timedelta(seconds=1))
    assert orders.key_of(plan) in registry.intervals_s()
    stored.done(plan)
    assert plan.state == PlanState.PURGED and plan.counts("purge")["purged"] == 1
    with pytest.raises(PlanActionRefused, match="purged"):
        orders.start_undo(plan, "olga", timezone.now())


def test_an_undo_puts_back_what_waits(audited: World, orphan: Path) -> None:
    plan = approved(audited)
    orders.start_apply(plan, "olga", timezone.now())
    stored.done(plan)
    orders.start_undo(plan, "olga", timezone.now())
    stored.done(plan)
    assert orphan.exists() and plan.state == PlanState.UNDONE and plan.purge_at is None


def test_an_order_wakes_its_work_and_a_tick_keeps_it(audited: World) -> None:
    plan = approved(audited)
    orders.start_apply(plan, "olga", timezone.now())
    assert DueWork.objects.due(timezone.now()).filter(key=orders.key_of(plan)).exists()
    assert registry.work_of(orders.key_of(plan)).task.queue == "storage"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda: StorageRoot.objects.update(attested_at=None), "attested"),
        (lambda: StorageRoot.objects.all().delete(), "not registered"),
        (
            lambda: AuditDoubt.objects.create(
                audit=StorageAudit.objects.get(),
                subject="s",
                reason="unlisted",
                reach="all_roots",
                **{"places": [], "statements": [], "more_places": 0},
                **{"blocked_files": 0, "blocked_bytes": 0},
            ),
            "doubts",
        ),
        (lambda: StorageAudit.objects.update(withheld=_withheld()), "not part"),
    ],
)
def test_of_a_root_that_may_not_be_cleaned_the_plan_holds_nothing_and_says_why(
    audited: World, change, says: str
) -> None:
    change()
    plan = stored.made(audited)
    assert plan.files == 0 and says in " ".join(plan.summary["withheld_roots"][0]["reasons"])
    with pytest.raises(PlanActionRefused, match="nothing to approve"):
        orders.approve(plan, admin(), timezone.now())


def _withheld() -> dict[str, str]:
    return {
        StorageRoot.objects.get().uri: "The registered root s3://b/x is not part of this audit."
    }


def test_without_an_audit_there_is_no_plan(audited: World) -> None:
    StorageAudit.objects.update(files_kept=False)
    with pytest.raises(PlanRefused, match="audit_storage"):
        planning.request_plan([audited.uri], waste=False, user=None, name="olga", at=timezone.now())


def test_a_quarantine_within_a_root_is_refused_and_said(audited: World) -> None:
    StorageRoot.objects.update(quarantine_uri=f"{audited.uri}/q")
    with pytest.raises(PlanRefused):
        stored.made(audited)
    plan = CleanupPlan.objects.get()
    assert plan.state == PlanState.REFUSED and "quarantine" in plan.trouble


def test_a_root_registered_around_the_quarantine_since_stops_the_plan(
    audited: World, orphan: Path
) -> None:
    plan = approved(audited)
    StorageRoot.objects.create(uri=f"file:{audited.quarantine}")
    orders.start_apply(plan, "olga", timezone.now())
    with pytest.raises(PlanRefused, match="quarantine"):
        stored.done(plan)
    plan.refresh_from_db()
    assert plan.state == PlanState.HALTED and orphan.exists()
