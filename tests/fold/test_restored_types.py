"""What a job was restored from where the directory does not say it: the type in its ``_metadata``,
whenever that is read.
"""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.fold.checkpoints import Lookup
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.sizes import Writing
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.fold.wanted_snapshots import wanted_keys
from tests.fold.pieces import told
from tests.fold.rows import JOB, events, lake, noon

MOVED = "s3://b/backup/of-monday"


def answer(path: str | None = "s3a://b/backup/of-monday", **more: Any) -> list[dict[str, Any]]:
    """Flink calls what the job did not claim a savepoint."""
    restored = {
        "restored_at": noon(1),
        "restored_checkpoint_id": 21,
        "restored_is_savepoint": True,
        "restored_path": path,
    }
    return lake(
        "jobs",
        [
            {
                "job_id": JOB,
                "state": "RUNNING",
                "flink_version": "1.20.5",
                "observed_at": noon(9),
                **restored,
                **more,
            }
        ],
    )


def log(path: str | None = "s3a://b/backup/of-monday") -> list[dict[str, Any]]:
    return events(
        [
            {
                "kind": "restored",
                "checkpoint_id": 21,
                "checkpoint_type": "Savepoint",
                "path": path,
                "ts": noon(0.9),
                "job_id": JOB,
            }
        ]
    )


def read(is_savepoint: bool | None, directory: str = MOVED, at_s: float = 60) -> dict[str, Any]:
    return {
        "owner_id": None,
        "metadata_path": f"{directory}/_metadata",
        "metadata_bytes": 9,
        "metadata_modified": None,
        "reader_version": 2,
        "checkpoint_id": 21,
        "state_bytes": 9,
        "is_savepoint": is_savepoint,
        "observed_at": noon(at_s),
    }


def shown(result: JobResult) -> tuple[bool | None, str, str | None]:
    (mark,) = (one for one in result.annotations if one["kind"] == "restore")
    return result.current["restored_is_savepoint"], mark["label"], mark["detail"]["from"]


def after(news: JobUpdate) -> JobState:
    return unpacked(told(news, JobState(), Settings()).state.packed())


KINDS = [
    (True, (True, "restored from savepoint 21", "savepoint")),
    (False, (False, "restored from checkpoint 21", "checkpoint")),
    (None, (None, "restored from checkpoint or savepoint 21", None)),
]


@pytest.mark.parametrize(
    "source",
    [
        {"answers": answer()},
        {"events": log()},
        {"answers": answer(), "events": log()},
        {"answers": answer("s3p://b/backup/of-monday")},
    ],
)
@pytest.mark.parametrize(("kind", "expected"), KINDS)
def test_the_type_in_the_file_decides_what_a_moved_snapshot_is(
    source: dict[str, Any], kind: bool | None, expected: tuple
) -> None:
    assert (
        shown(told(JobUpdate("c", JOB, **source, snapshots=[read(kind)]), JobState(), Settings()))
        == expected
    )


@pytest.mark.parametrize(("kind", "expected"), KINDS)
def test_a_file_that_is_read_after_the_restore_corrects_what_was_said_before(
    kind: bool | None, expected: tuple
) -> None:
    before = after(JobUpdate("c", JOB, answers=answer(), events=log()))
    assert wanted_keys(JOB, before, (), Writing((1, 20))) == (MOVED,)
    assert shown(told(JobUpdate("c", JOB, snapshots=[read(kind)]), before, Settings())) == expected


def test_a_restore_from_what_was_read_before_asks_for_it_once() -> None:
    before = after(
        JobUpdate(
            "c",
            JOB,
            answers=answer(
                None, restored_at=None, restored_checkpoint_id=None, restored_is_savepoint=None
            ),
        )
    )
    news = JobUpdate("c", JOB, answers=answer(observed_at=noon(99)), has_older_snapshots=True)
    lookup = fold(news, before, Settings())
    assert isinstance(lookup, Lookup) and lookup.keys == (MOVED,) and lookup.from_ms > lookup.to_ms
    found = told(
        replace(news, looked_up_span=lookup[:2], earlier_snapshots=[read(False)]),
        before,
        Settings(),
    )
    assert shown(found) == (False, "restored from checkpoint 21", "checkpoint")
    unread = told(replace(news, looked_up_span=lookup[:2]), before, Settings())
    assert isinstance(fold(news, unread.state, Settings()), JobResult), (
        "what the lake did not have comes by itself when it is read"
    )


def test_where_the_directory_says_what_it_holds_no_file_is_asked_for() -> None:
    for path in ("s3a://b/backup/chk-21", "s3a://b/sp/savepoint-0-1", None):
        news = JobUpdate("c", JOB, answers=answer(path), events=log(path), has_older_snapshots=True)
        result = told(news, JobState(), Settings())
        assert wanted_keys(JOB, result.state, (), Writing((1, 20))) == ()


def test_a_line_without_a_path_gives_way_to_the_answer_that_has_one() -> None:
    result = told(
        JobUpdate("c", JOB, answers=answer("s3a://b/ck/0/chk-21"), events=log(None)),
        JobState(),
        Settings(),
    )
    assert shown(result) == (False, "restored from checkpoint 21", "checkpoint")


def test_what_a_line_without_a_path_calls_a_savepoint_may_be_either() -> None:
    assert shown(told(JobUpdate("c", JOB, events=log(None)), JobState(), Settings())) == (
        None,
        "restored from checkpoint or savepoint 21",
        None,
    )
