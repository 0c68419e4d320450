"""Old audits give way, and what they say of a root over time stays."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from tests.webapp.storage.builders import ROOT, audit, root_figures, whole_audit
from webapp.pipeline import retention
from webapp.storage.auditing import audit_retention
from webapp.storage.choices import AuditState
from webapp.storage.models import CheckpointStorage, RootFigures, StorageAudit

pytestmark = pytest.mark.django_db
NOW = (timezone.now() - timedelta(days=1)).replace(hour=12, minute=0, second=0, microsecond=0)


def test_rows_of_jobs_go_after_a_week_and_totals_stay_one_a_day(lease):
    for hours in (24 * 40, 24 * 30 + 6, 24 * 30, 6, 0):
        whole_audit(f"storage-{hours}", as_of=NOW - timedelta(hours=hours))
    retention.purge(NOW, lease)
    assert set(CheckpointStorage.objects.values_list("audit_id", flat=True)) == {
        "storage-0",
        "storage-6",
    }
    assert set(RootFigures.objects.values_list("audit_id", flat=True)) == {
        "storage-0",
        "storage-6",
        "storage-720",
        "storage-960",
    }


def test_the_newest_audit_of_a_root_keeps_everything_however_old_it_is(lease):
    whole_audit(as_of=NOW - timedelta(days=900))
    retention.purge(NOW, lease)
    assert (
        CheckpointStorage.objects.count(),
        RootFigures.objects.count(),
        StorageAudit.objects.count(),
    ) == (1, 1, 1)


def test_lists_of_files_are_kept_for_the_last_audits_and_the_newest_of_each_root(lease, home):
    kept = settings.WEIR.storage_keep_audits
    folders = {}
    for number in range(kept + 3):
        name = f"storage-20260301T0410{number:02d}-0000000{number}"
        folders[number] = home / "runs" / name
        folders[number].mkdir(parents=True)
        of = audit(
            name, as_of=NOW - timedelta(hours=number), files_kept=True, run_dir=str(folders[number])
        )
        root_figures(of, "s3://elsewhere" if number == kept + 2 else ROOT)
    assert audit_retention.forget_old(lease) == 2
    assert [number for number, folder in folders.items() if not folder.exists()] == [kept, kept + 1]


def test_an_audit_that_a_running_one_carries_on_keeps_its_list_of_files(lease, home):
    """Else the running one takes it for lost, and withdraws what operators attested."""
    kept, folders = settings.WEIR.storage_keep_audits, []
    for number in range(kept + 2):
        name = f"storage-20260301T0410{number:02d}-0000000{number}"
        folders.append(home / "runs" / name)
        folders[-1].mkdir(parents=True)
        audit(name, as_of=NOW + timedelta(hours=number), files_kept=True, run_dir=str(folders[-1]))
    previous = StorageAudit.objects.get(as_of=NOW)
    audit("running", as_of=NOW, state=AuditState.RUNNING, previous=previous)
    audit_retention.forget_old(lease)
    assert [folder.exists() for folder in folders] == [True, False, *[True] * kept]


def test_a_folder_that_does_not_look_like_ours_is_never_removed(lease, tmp_path):
    (tmp_path / "precious").mkdir()
    audit("failed", state="failed", files_kept=True, run_dir=str(tmp_path / "precious"))
    assert audit_retention.forget_old(lease) == 1
    assert (tmp_path / "precious").exists()
