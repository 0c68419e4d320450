"""Tables of an audit into the database."""

import pytest

from tests.webapp.builders import T0
from tests.webapp.storage.builders import JOB, ROOT, audit, write_run
from webapp.storage.auditing import loading
from webapp.storage.choices import AuditState
from webapp.storage.models import AuditDoubt, MissingFile, RootFigures, StorageAudit

pytestmark = pytest.mark.django_db

ROW = {
    "audit_id": "storage-1",
    "root": ROOT,
    "as_of": T0,
    "files": 4,
    "bytes": 40,
    "metadata_files": 1,
    "checkpoints": 1,
    "unlisted": 0,
    "doubts": 0,
    "cleanable": False,
    "not_cleanable": '["not_attested"]',
    **{
        f"{name}_{unit}": 1
        for name in ("live", "retained_waste", "orphan", "recent", "kept", "missing")
        for unit in ("files", "bytes")
    },
}
DOUBTS = [
    {
        "audit_id": "storage-1",
        "subject": f"{ROOT}/{n}",
        "reason": "unlisted",
        "root": ROOT,
        "detail": None,
        "reach": "jobs",
        "places": f'["{ROOT}/job"]',
        "more_places": 0,
        "blocked_files": 0,
        "blocked_bytes": 0,
        "statements": "[]",
    }
    for n in range(5_000)
]


@pytest.fixture
def written(tmp_path) -> StorageAudit:
    path = write_run(
        tmp_path,
        "storage-1",
        {"storage_root": [[ROW]], "storage_doubt": [DOUBTS[:3_000], DOUBTS[3_000:]]},
    )
    return audit(state=AuditState.RUNNING, run_dir=str(tmp_path), manifest_path=path)


def load(of: StorageAudit, lease) -> dict[str, int]:
    rows = loading.load(of, loading.read_manifest(of), lease, lambda line: None)
    loading.finish(of, lease)
    return rows


def test_an_audit_is_loaded_with_its_json_and_times(written, lease):
    assert load(written, lease) == {"storage_root": 1, "storage_doubt": 5_000}
    row = RootFigures.objects.get()
    assert (row.as_of, row.not_cleanable) == (T0, ["not_attested"])
    written.refresh_from_db()
    assert written.state == AuditState.LOADED


def test_loading_again_after_a_kill_gives_the_same_rows(written, lease, monkeypatch):
    batches = loading.run_files.batches

    def killed(*args):
        for number, rows in enumerate(batches(*args)):
            if number == 1:
                raise KeyboardInterrupt
            yield rows

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loading.run_files, "batches", killed)
        load(written, lease)
    half = AuditDoubt.objects.count()
    written.refresh_from_db()
    assert (0 < half < 5_000, written.state) == (True, AuditState.RUNNING)
    load(written, lease)
    load(written, lease)
    assert (AuditDoubt.objects.count(), RootFigures.objects.count()) == (5_000, 1)


def test_paths_too_long_for_an_index_are_cut_and_stay_different(tmp_path, lease):
    long = f"{ROOT}/{JOB}/" + "x" * 2_000
    rows = [
        {
            "audit_id": "storage-1",
            "metadata_path": long,
            "path": long + end,
            "root": ROOT,
            "bytes": 1,
            "superseded": False,
        }
        for end in "ab"
    ]
    path = write_run(tmp_path, "storage-1", {"storage_missing": [rows]})
    load(audit(state=AuditState.RUNNING, run_dir=str(tmp_path), manifest_path=path), lease)
    assert len({row.path for row in MissingFile.objects.all()}) == 2
