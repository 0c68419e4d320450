"""What runs told of checkpoints, taken up into the lake: once, in order, whole, whatever is
killed.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from ingest.lake.store import Lake
from ingest.records import Observed, Skip
from spark_jobs import kept_facts
from spark_jobs import manifest as manifests
from spark_jobs.__main__ import main
from spark_jobs.kept_facts import TABLE, UNFINISHED, keep, taken
from spark_jobs.manifest import Manifest
from spark_jobs.previous_run import PreviousLost
from spark_jobs.run_files import JOB_STATE
from tests.webapp.pipeline.runs import AT, fact, row, write_run

LATER = AT + timedelta(minutes=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def told(tmp_path: Path) -> Any:
    """``told(3, 5, facts)``: a complete run from commit 3 to commit 5 of the lake."""

    def told(
        start: int,
        end: int,
        facts: Sequence[dict[str, Any]] = (),
        lines: Sequence[dict[str, Any]] = (),
        **more: Any,
    ) -> Manifest:
        name = more.pop("attempt", f"run-{start}-{end}")
        tables = {"checkpoint_fact": facts, "log_event": lines}
        return manifests.read(
            write_run(
                tmp_path / name,
                tables,
                from_={"checkpoints": start},
                to={"checkpoints": end},
                **more,
            )
        )

    return told


def kept(lake: Lake) -> list[dict[str, Any]]:
    rows = lake.read(
        TABLE,
        where={},
        from_time=AT - timedelta(days=99_999),
        to_time=AT + timedelta(days=9_999),
        limit=100_000,
    )
    return sorted(rows.to_pylist(), key=lambda row: (row["commit_seq"], row["checkpoint_id"] or 0))


def ids(lake: Lake) -> list[int]:
    return [row["checkpoint_id"] for row in kept(lake)]


def test_a_fact_is_kept_as_far_as_roll_ups_need_it(lake: Lake, told: Any) -> None:
    figures = {"end_to_end_ms": 5, "sync_ms": 2, "state_bytes": 70, "is_savepoint": True}
    keep(lake, told(0, 1, [fact(1, as_of=LATER, **figures)]))
    (one,) = kept(lake)
    assert {name: one[name] for name in figures} == figures
    assert (one["observed_at"], one["trigger_time"], one["date"], one["retracted"]) == (
        LATER,
        AT,
        AT.date(),
        False,
    )
    assert (one["source"], one["async_ms"]) == ("run-0-1", None)


def test_a_run_is_kept_once_however_often_it_is_asked_for(lake: Lake, told: Any) -> None:
    first, second = told(0, 1, [fact(1)]), told(1, 2, [fact(2)])
    assert (keep(lake, first), keep(lake, first), keep(lake, second), keep(lake, second)) == (
        1,
        0,
        1,
        0,
    )
    assert ids(lake) == [1, 2]


def test_processes_that_keep_the_same_run_at_once_keep_it_once(lake: Lake, told: Any) -> None:
    keep(lake, told(0, 1, [fact(1)]))
    run = told(1, 2, [fact(2), fact(3)])
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda _: keep(lake, run), range(4))) == [0, 0, 0, 2]
    assert ids(lake) == [1, 2, 3]


def test_what_a_run_takes_back_is_a_row_of_its_own(lake: Lake, told: Any) -> None:
    keep(lake, told(0, 1, [fact(7, trigger_time=LATER)]))
    gone = [{"cluster": "c", "job_id": "a" * 32, "checkpoint_id": 7, "trigger_time": LATER}]
    keep(lake, told(1, 2, [fact(7)], retracted={"checkpoint_fact": gone}))
    _, *rows = kept(lake)
    assert {(row["trigger_time"], row["retracted"], row["outcome"]) for row in rows} == {
        (LATER, True, None),
        (AT, False, "completed"),
    }


def test_a_refused_trigger_without_an_id_is_kept_and_no_other_line(lake: Lake, told: Any) -> None:
    refusal = {
        "job_id": "a" * 32,
        "cluster": "c",
        "process": "jm",
        "ts": LATER,
        "record_hash": "h",
        "ordinal": 2,
    }
    lines = [
        row("log_event", **refusal, kind="trigger_refused"),
        row("log_event", **refusal | {"job_id": None}, kind="trigger_refused"),
        row("log_event", **refusal, kind="trigger_refused", checkpoint_id=4),
        row("log_event", **refusal, kind="trigger_failed"),
    ]
    assert keep(lake, told(0, 1, lines=lines)) == 1
    (one,) = kept(lake)
    assert (one["outcome"], one["trigger_time"], one["checkpoint_id"], one["line"]) == (
        REFUSED,
        LATER,
        None,
        "jm/h/2",
    )


def test_killed_between_two_parts_it_goes_on_with_the_next(
    lake: Lake, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_facts, "ROWS_A_BATCH", 2)
    monkeypatch.setattr(kept_facts, "ROWS_A_PART", 4)
    keep(lake, told(0, 1, [fact(1)]))
    run, write = told(1, 2, [fact(number) for number in range(2, 14)]), kept_facts._write

    def killed_at_the_third(*arguments: Any, **more: Any) -> int:
        if arguments[3].part == 3:
            raise KeyboardInterrupt
        return write(*arguments, **more)

    monkeypatch.setattr(kept_facts, "_write", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        keep(lake, run)
    assert (len(ids(lake)), taken(lake).cycle) == (9, UNFINISHED)
    monkeypatch.setattr(kept_facts, "_write", write)
    assert keep(lake, run) == 4
    assert ids(lake) == list(range(1, 14))
    assert (keep(lake, run), taken(lake).cycle) == (0, 2)


def test_a_run_that_reads_the_lake_from_its_beginning_takes_the_place_of_all_before(
    lake: Lake, told: Any
) -> None:
    keep(lake, told(0, 1, [fact(1, trigger_time=LATER)]))
    keep(lake, told(1, 2, [fact(2)]))
    again = told(0, 2, [fact(1), fact(2)], attempt="again")
    assert (keep(lake, again), keep(lake, again)) == (2, 0)
    assert [(row["checkpoint_id"], row["trigger_time"]) for row in kept(lake)] == [(1, AT), (2, AT)]
    assert keep(lake, told(2, 3, [fact(3)])) == 1
    assert keep(lake, again) == 0


@pytest.mark.parametrize("lost", ["never begun", "a run is missing", "another run came between"])
def test_a_table_that_lacks_what_came_before_is_lost(lake: Lake, told: Any, lost: str) -> None:
    for start, end in {
        "never begun": (),
        "a run is missing": ((0, 1),),
        "another run came between": ((0, 2), (2, 3)),
    }[lost]:
        keep(lake, told(start, end, [fact(1)]))
    with pytest.raises(PreviousLost, match="lacks facts from before run late"):
        keep(lake, told(2, 4, [fact(2)], attempt="late"))


def test_a_run_whose_files_are_damaged_is_lost(lake: Lake, told: Any) -> None:
    run = told(0, 1, [fact(1)])
    (Path(run.run_dir) / run.tables["checkpoint_fact"].files[0]).write_bytes(b"PAR1")
    with pytest.raises(PreviousLost, match="cannot be kept"):
        keep(lake, run)


def test_a_run_without_news_of_checkpoints_is_noted_and_wakes_nobody(lake: Lake, told: Any) -> None:
    keep(lake, told(0, 1, [fact(1)]))
    seen = lake.version(TABLE)
    keep(lake, told(1, 2))
    assert (taken(lake).cycle, lake.files(TABLE, after_seq=seen)) == (2, [])


def test_compaction_changes_nothing_of_it(lake: Lake, told: Any) -> None:
    runs = [told(number, number + 1, [fact(number)]) for number in range(4)]
    for run in runs:
        keep(lake, run)
    rows, seen = kept(lake), lake.version(TABLE)
    assert lake.compact(TABLE)["numFilesRemoved"] == 4
    assert (kept(lake), lake.files(TABLE, after_seq=seen)) == (rows, [])
    assert (keep(lake, runs[-1]), keep(lake, told(4, 5, [fact(5)]))) == (0, 1)


def test_false_trigger_times_do_not_make_a_folder_for_each_day(
    lake: Lake, told: Any, tmp_path: Path
) -> None:
    far = [fact(number, trigger_time=AT - timedelta(days=number)) for number in range(1_000, 3_000)]
    keep(lake, told(0, 1, [*far, fact(1)]))
    assert len(kept(lake)) == 2_001
    assert len(list((tmp_path / "lake" / CHECKPOINT_FACTS.name).glob("date=*"))) < 10


def test_old_days_are_forgotten_but_for_clusters_that_are_spared(lake: Lake, told: Any) -> None:
    old = AT - timedelta(days=30)
    keep(
        lake,
        told(
            0,
            1,
            [
                fact(1),
                *(
                    fact(2, trigger_time=old, as_of=old, cluster=name)
                    for name in ("c", "it's", "d")
                ),
            ],
        ),
    )
    seen = lake.version(TABLE)
    assert lake.forget(TABLE, AT.date(), ["it's", "e"]) == 2
    assert sorted((row["cluster"], row["checkpoint_id"]) for row in kept(lake)) == [
        ("c", 1),
        ("it's", 2),
    ]
    assert lake.files(TABLE, after_seq=seen) == []
    assert lake.forget(TABLE, AT.date(), ["it's", "e"]) == 0


def test_a_cycle_killed_between_its_manifest_and_this_is_caught_up_by_the_next(
    tmp_path: Path, lake: Lake
) -> None:
    lake.append([Observed("c", AT, "rest", (Skip("s", "timeout", ""),))])
    killed = write_run(
        tmp_path / "killed", {"checkpoint_fact": [fact(1)]}, to={"skips": 1}, state={JOB_STATE: []}
    )
    words = [
        "cycle",
        "--lake",
        lake.root,
        "--attempt",
        "next",
        "--run-dir",
        str(tmp_path / "next"),
        "--previous",
        killed,
    ]
    assert main(words) == 0
    assert ids(lake) == [1]
