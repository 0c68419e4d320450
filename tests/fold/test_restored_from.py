"""What each job was restored from, by the directories that its log names."""

import re

import pytest

from spark_jobs.fold.snapshots import is_savepoint
from tests.fold.test_recorded_lives import lives
from tests.ingest.recorded import ALL, RECORDINGS
from tests.selections import mostly_long

RESTORED = re.compile(
    r"Restoring job [0-9a-f]{32} from \w+ (?P<id>\d+) @ \d+ for (?P<job>[0-9a-f]{32}) located at "
    r"(?P<path>\S+?)\.?$"
)


def restored(recording: str) -> dict[str, list[str]]:
    """Job → "savepoint 7" or "checkpoint 6" of each restore, as its path says."""
    found: dict[str, list[str]] = {}
    for log in sorted((RECORDINGS / recording / "logs").glob("*standalonesession*")):
        for line in log.read_text(errors="replace").splitlines():
            if match := RESTORED.search(line):
                kind = (
                    "checkpoint" if match["path"].endswith(f"/chk-{match['id']}") else "savepoint"
                )
                found.setdefault(match["job"], []).append(f"{kind} {match['id']}")
    return found


@pytest.mark.parametrize("recording", mostly_long(ALL, short=6))
def test_every_restore_is_called_what_its_directory_is(recording: str) -> None:
    expected = restored(recording)
    for life in lives(recording):
        job_id = next(row["job_id"] for row in (*life.state.answers, *life.state.events))
        marks = sorted(
            (row for row in life.annotations if row["kind"] == "restore"), key=lambda row: row["at"]
        )
        wanted = expected.get(job_id, [])
        assert {row["label"] for row in marks} == {f"restored from {words}" for words in wanted}
        if wanted:
            kind = "savepoint" if life.current["restored_is_savepoint"] else "checkpoint"
            assert f"{kind} {life.current['restored_checkpoint_id']}" == wanted[-1]
            assert {row["detail"]["from"] for row in marks} == {
                words.split()[0] for words in wanted
            }


@pytest.mark.parametrize(
    ("path", "told", "expected"),
    [
        ("file:/c/0123/chk-21", True, False),
        ("s3://b/c/0123/chk-21/_metadata", None, False),
        ("hdfs://n/sp/savepoint-012345-0123456789ab/", False, True),
        ("s3://b/moved/elsewhere", True, None),
        ("s3a://b/read/savepoint/", False, True),
        ("s3://b/read/checkpoint/_metadata", True, False),
        ("hdfs://n/sp/savepoint-read-as-checkpoint", None, True),
        (None, False, False),
        (None, True, None),
    ],
)
def test_the_directory_decides_or_the_type_in_its_file_and_never_flinks_word(
    path: str | None, told: bool | None, expected: bool | None
) -> None:
    types = {
        "s3://b/read/savepoint": True,
        "s3://b/read/checkpoint": False,
        "hdfs://n/sp/savepoint-read-as-checkpoint": False,
    }
    assert is_savepoint(path, told, types) is expected
