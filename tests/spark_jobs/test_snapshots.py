"""What audits read of ``_metadata`` before a job is known comes to it."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from ingest.metadata.evidence import rows_of
from ingest.metadata.files import MetadataFile
from ingest.recordings.importer import import_recording
from ingest.records import Observed, Snapshot
from tests.acceptance.recount import full_sizes
from tests.spark_jobs.instances import RECORDINGS, SmallInstance

NAME = "1.12.5/G"
JOB = "a62f25380f11e4a3bf0b5d6b3979405a"
WRITTEN = "file:/opt/l/lab/run/1.12.5-G"
READ_AT = datetime(2026, 11, 21, 6, tzinfo=UTC)


def read_by_an_audit(*numbers: int, below: str = WRITTEN) -> Observed:
    """Of these files what an audit keeps: nobody knows of which cluster they are."""
    found: list[Snapshot] = []
    for number in numbers:
        (path,) = (RECORDINGS / NAME).glob(f"ckpt/*/chk-{number}/_metadata")
        written = f"{below}/{path.relative_to(RECORDINGS / NAME).as_posix()}"
        rows = rows_of(MetadataFile(written, path.stat().st_size, None, read_at=str(path)), 1 << 20)
        found += [row for row in rows if isinstance(row, Snapshot)]
    return Observed("", READ_AT, "metadata", tuple(found))


def odd_files() -> Observed:
    """Whatever may stand in storage: other numbers than the directory's, no job's id, times of
    other ages, nothing at all.
    """
    own = f"{WRITTEN}/ckpt/{JOB}/chk-4"
    ages = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), None]
    odd = [
        Snapshot(f"{path}/_metadata", None, at, 2, job_id, number, 3, 2**63 - 1, True)
        for path, job_id, number in (
            (own, JOB, 2**63 - 1),
            (own, JOB, -4),
            (own, ("no id"), None),
            ("file:/x", None, 4),
            ("", "", 4),
        )
        for at in ages
    ]
    return Observed("", READ_AT, "metadata", tuple(odd))


def test_files_that_were_read_before_their_job_was_known_tell_its_full_sizes(
    tmp_path: Path,
) -> None:
    instance = SmallInstance(None, tmp_path)
    instance.lake.append(
        [read_by_an_audit(5, 18), read_by_an_audit(17, below="file:/copied"), odd_files()]
    )
    instance.cycle()
    bare = tmp_path / "bare"
    shutil.copytree(
        RECORDINGS / NAME, bare, ignore=shutil.ignore_patterns("ckpt", "sp", "listing*")
    )
    import_recording(bare, "one", instance.lake)
    instance.cycle()
    instance.lake.append([read_by_an_audit(6), odd_files()])
    instance.cycle()
    full = full_sizes(RECORDINGS / NAME)
    facts = [row for row in instance.rows("checkpoint_fact").values() if not row["is_savepoint"]]
    told = {
        (row["job_id"], row["checkpoint_id"]): row["state_bytes"]
        for row in facts
        if row["state_bytes"] is not None
    }
    assert told == {key: size for key, size in full.items() if key[1] in (5, 6, 18)}
    (job,) = instance.rows("job_current").values()
    assert job["state_bytes"] == full[job["job_id"], 18]
