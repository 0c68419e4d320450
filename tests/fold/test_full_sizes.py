"""Full sizes before Flink 1.15, which only ``_metadata`` tell: which file is that of which
checkpoint, and when it may come.
"""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.fold.checkpoints import FACTS_KEPT_MOST, Lookup
from spark_jobs.fold.full_sizes import FullSizes
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from tests.fold.pieces import told, with_found
from tests.fold.rows import events, lake, noon, only

JOB = "5ca1ab1e" * 4
FIXED = "0" * 32
EVERY_S = 60


def read(
    number: int,
    size: int | None = 82,
    directory: str = "",
    written_s: float | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A ``_metadata`` as the lake tells of it, written ``written_s`` after noon."""
    owner = more.pop("owner_id", JOB)
    return {
        "owner_id": owner,
        "metadata_path": f"{directory or f'file:/c/{owner}/chk-{number}'}/_metadata",
        "metadata_bytes": 9,
        "metadata_modified": None if written_s is None else noon(written_s),
        "reader_version": 2,
        "checkpoint_id": number,
        "state_bytes": size,
        "is_savepoint": None,
        "observed_at": noon(86_400),
        **more,
    }


def answered(
    *numbers: int, path: str = f"file:/c/{JOB}/chk-%s", at_s: float | None = None
) -> list[dict[str, Any]]:
    """Checkpoints as a 1.12 answers of them, one a minute."""
    triggers = {number: EVERY_S * number if at_s is None else at_s for number in numbers}
    return lake(
        "checkpoints",
        [
            {
                "job_id": JOB,
                "checkpoint_id": number,
                "trigger_time": noon(at),
                "observed_at": noon(at + 5),
                "status": "COMPLETED",
                "state_bytes": 1,
                "is_savepoint": False,
                "external_path": path % number,
            }
            for number, at in triggers.items()
        ],
    )


def version(release: str) -> list[dict[str, Any]]:
    return lake(
        "jobs",
        [{"job_id": JOB, "state": "RUNNING", "flink_version": release, "observed_at": noon()}],
    )


def after(news: JobUpdate, before: JobState | None = None) -> JobState:
    return unpacked(told(news, before or JobState(), Settings()).state.packed())


def sizes(result: JobResult) -> dict[int, tuple[int | None, int | None]]:
    return {
        fact["checkpoint_id"]: (fact["state_bytes"], fact["checkpointed_bytes"])
        for fact in result.facts
    }


def test_the_file_of_a_checkpoint_tells_its_full_size_and_nothing_else_of_it() -> None:
    news = JobUpdate("c", JOB, checkpoints=answered(1, 2))
    without = told(news, JobState(), Settings())
    with_files = told(replace(news, snapshots=[read(2)]), JobState(), Settings())
    assert sizes(without) == {1: (None, 1), 2: (None, 1)}
    assert sizes(with_files) == {1: (None, 1), 2: (82, 1)}
    own = {"state_bytes": 82, "uploaded_ratio": 1 / 82}
    assert with_files.facts == [without.facts[0], without.facts[1] | own]
    assert with_files.current == without.current | {"state_bytes": 82}


@pytest.mark.parametrize("first", ["answer", "file"])
def test_it_does_not_matter_which_comes_first(first: str) -> None:
    answer = JobUpdate("c", JOB, checkpoints=answered(1))
    file = JobUpdate("c", JOB, snapshots=[read(1)])
    early, late = (answer, file) if first == "answer" else (file, answer)
    result = told(late, after(early), Settings())
    assert sizes(result) == {1: (82, 1)}
    assert (
        told(late, after(late, after(early)), Settings()).facts == result.facts or first == "answer"
    )


def test_a_file_that_was_read_before_tells_nothing_again() -> None:
    news = JobUpdate("c", JOB, checkpoints=answered(1), snapshots=[read(1)])
    assert told(JobUpdate("c", JOB, snapshots=[read(1)]), after(news), Settings()).facts == []


def test_from_1_15_on_a_file_changes_nothing_as_flink_reports_the_full_size() -> None:
    rows = [row | {"state_bytes": 50, "checkpointed_bytes": 1} for row in answered(1)]
    news = JobUpdate("c", JOB, answers=version("1.20.5"), checkpoints=rows, snapshots=[read(1)])
    assert sizes(told(news, JobState(), Settings())) == {1: (50, 1)}


def test_of_a_checkpoint_that_only_the_log_tells_of_the_jobs_directory_and_its_number_say_which_file_it_is() -> (
    None
):
    line = {"checkpoint_id": 3, "trigger_time": noon(180), "job_id": JOB}
    log = events(
        [
            line | {"kind": "checkpoint_triggered", "ts": noon(180)},
            line
            | {
                "kind": "checkpoint_completed",
                "ts": noon(182),
                "state_bytes": 7,
                "duration_ms": 900,
                "message": f"Completed checkpoint 3 for job {JOB} (7 bytes in 900 ms).",
            },
        ]
    )
    for owner, expected in ((JOB, 82), ("f" * 32, None), (None, None)):
        directory = f"s3://b/{owner or 'c'}/chk-3"
        news = JobUpdate(
            "c", JOB, events=log, snapshots=[read(3, directory=directory, owner_id=owner)]
        )
        assert sizes(told(news, JobState(), Settings())) == {3: (expected, 7)}


def test_a_fixed_job_id_alone_does_not_say_whose_file_it_is() -> None:
    file = read(3, owner_id=FIXED)
    assert FullSizes(FIXED, [file], [(3, noon())]).of((3, noon()), None) is None
    assert FullSizes(FIXED, [file], [(3, noon())]).of((3, noon()), f"file:///c/{FIXED}/chk-3") == 82


def test_a_copy_in_another_directory_is_not_the_file_that_flink_named() -> None:
    copy = read(1, size=99, directory=f"file:/backup/{JOB}/chk-1")
    news = JobUpdate("c", JOB, checkpoints=answered(1), snapshots=[copy])
    assert sizes(told(news, JobState(), Settings())) == {1: (None, 1)}
    both = replace(news, snapshots=[copy, read(1)])
    assert sizes(told(both, JobState(), Settings())) == {1: (82, 1)}


def test_two_copies_that_differ_tell_nothing_of_a_checkpoint_without_a_path() -> None:
    copies = [read(1, size=size, directory=f"file:/{size}/{JOB}/chk-1") for size in (82, 99)]
    assert FullSizes(JOB, copies).of((1, noon()), None) is None
    assert FullSizes(JOB, copies[:1] * 2).of((1, noon()), None) == 82


def test_of_a_number_that_repeats_the_file_is_that_of_the_last_trigger_before_it_was_written() -> (
    None
):
    path, triggers = f"file:/c/{JOB}/chk-1", [(1, noon(0)), (1, noon(1000))]

    def both(*files: dict[str, Any]) -> list[int | None]:
        found = FullSizes(JOB, files, triggers)
        return [found.of(key, path) for key in triggers]

    assert both(read(1, written_s=2)) == [82, None]
    assert both(read(1, written_s=1002)) == [None, 82]
    assert both(read(1, written_s=2), read(1, size=99, written_s=1002)) == [82, 99]
    assert both(read(1)) == [None, None], "when it was written is not known"
    assert both(read(1, observed_at=noon(500))) == [82, None], (
        "it was read before the second was triggered"
    )


def test_a_file_whose_number_is_not_that_of_its_directory_tells_nothing() -> None:
    file = read(2, directory=f"file:/c/{JOB}/chk-1")
    news = JobUpdate("c", JOB, checkpoints=answered(1, 2), snapshots=[file])
    assert sizes(told(news, JobState(), Settings())) == {1: (None, 1), 2: (None, 1)}


def test_a_checkpoint_that_was_lost_has_no_full_size() -> None:
    rows = [
        row
        | {
            "status": "FAILED",
            "state_bytes": None,
            "failure_message": "Checkpoint expired before completing.",
        }
        for row in answered(1)
    ]
    news = JobUpdate("c", JOB, checkpoints=rows, snapshots=[read(1)])
    assert sizes(told(news, JobState(), Settings())) == {1: (None, None)}


def long_life() -> tuple[JobUpdate, JobState]:
    """More checkpoints than facts are kept of."""
    every = JobUpdate(
        "c", JOB, answers=version("1.12.5"), checkpoints=answered(*range(1, FACTS_KEPT_MOST + 100))
    )
    return every, after(every)


@pytest.mark.parametrize("number", [2, 150])
def test_the_file_of_a_checkpoint_that_left_memory_asks_for_its_rows_and_then_tells_its_full_size(
    number: int,
) -> None:
    every, before = long_life()
    news = JobUpdate("c", JOB, snapshots=[read(number, written_s=EVERY_S * number + 3)])
    lookup = fold(news, before, Settings())
    assert isinstance(lookup, Lookup)
    assert lookup.from_ms <= noon(EVERY_S * number) <= lookup.to_ms and JOB in lookup.keys
    assert sizes(told(with_found(news, every, lookup), before, Settings())) == {number: (82, 1)}


def test_a_late_line_about_a_checkpoint_that_left_memory_does_not_take_its_full_size_away() -> None:
    every, before = long_life()
    every = replace(every, snapshots=[read(150, written_s=EVERY_S * 150 + 3)])
    line = events(
        [
            {
                "kind": "late_message",
                "checkpoint_id": 150,
                "ts": noon(EVERY_S * 150 + 9),
                "task": "map",
                "host": "a",
                "job_id": JOB,
            }
        ]
    )
    news = JobUpdate("c", JOB, events=line, has_older_snapshots=True)
    lookup = fold(news, before, Settings())
    assert isinstance(lookup, Lookup)
    fact = only(told(with_found(news, every, lookup), before, Settings()).facts)
    assert (fact["checkpoint_id"], fact["state_bytes"], fact["late_message_count"]) == (150, 82, 1)


def test_a_job_that_appears_after_its_files_were_read_asks_for_them_once() -> None:
    news = JobUpdate(
        "c", JOB, answers=version("1.12.5"), checkpoints=answered(1), has_older_snapshots=True
    )
    lookup = fold(news, JobState(), Settings())
    assert isinstance(lookup, Lookup) and lookup.from_ms > lookup.to_ms
    assert set(lookup.keys) == {JOB, f"file:/c/{JOB}"}
    found = replace(news, looked_up_span=lookup[:2], earlier_snapshots=[read(1)])
    assert sizes(told(found, JobState(), Settings())) == {1: (82, 1)}
    assert isinstance(
        fold(
            JobUpdate("c", JOB, checkpoints=answered(2), has_older_snapshots=True),
            after(found),
            Settings(),
        ),
        JobResult,
    )


def test_a_job_of_1_20_asks_for_nothing() -> None:
    rows = [row | {"checkpointed_bytes": 1} for row in answered(1)]
    news = JobUpdate(
        "c", JOB, answers=version("1.20.5"), checkpoints=rows, has_older_snapshots=True
    )
    assert isinstance(fold(news, JobState(), Settings()), JobResult)
