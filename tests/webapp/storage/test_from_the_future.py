"""Audits that were stored with a time that is yet to come: they are not the newest of anything, and
prove nothing.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.storage.builders import ROOT, audit, file_row, root_figures, write_run
from webapp.cleanup import planning
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.models import CleanupPlan
from webapp.storage.audit_findings import _is_outdated
from webapp.storage.auditing import audit_run
from webapp.storage.models import StorageAudit
from webapp.storage.newest_audits import latest, latest_audits, latest_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def ahead(tmp_path):
    """One of next year and a real one of before, both with their files."""
    now = timezone.now()
    path = write_run(
        tmp_path / "real",
        "storage-real",
        {"storage_file": [[file_row(f"{ROOT}/x", "storage-real")]]},
    )
    real = audit(
        "storage-real",
        as_of=now - timedelta(hours=1),
        files_kept=True,
        run_dir=str(tmp_path / "real"),
        manifest_path=path,
    )
    future = audit("storage-future", as_of=now + timedelta(days=365), files_kept=True)
    for one in (real, future):
        root_figures(one)
    return future


def test_pages_and_the_fleet_go_by_the_newest_real_one(ahead):
    assert latest_of(ROOT).audit.audit_id == "storage-real"
    assert (
        [row.audit.audit_id for row in latest()]
        == [row["audit_id"] for row in latest_audits()]
        == ["storage-real"]
    )
    assert StorageAudit.objects.newest().audit_id == "storage-real"


def test_plans_are_made_of_the_newest_real_one(ahead):
    assert planning.newest_audit([ROOT]).audit_id == "storage-real"


def test_a_plan_asked_for_of_one_is_not_made(ahead, lease):
    now = timezone.now()
    plan = CleanupPlan.objects.create(
        folder="/tmp/none",
        audit=ahead,
        roots=[ROOT],
        created_at=now,
        expires_at=now + timedelta(days=1),
        grace_s=1,
    )
    with pytest.raises(PlanRefused, match="yet to come"):
        planning.make(plan, lease, print)


def test_the_next_audit_carries_on_from_the_newest_real_one_and_is_judged(ahead):
    following = audit_run._newest_audit_before(timezone.now())
    assert following.audit_id == "storage-real"
    assert not _is_outdated(latest_of(ROOT))
