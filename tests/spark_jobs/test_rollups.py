"""``python -m spark_jobs rollups`` over what runs told of recordings, against a recount in plain
Python.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from ingest.lake.store import Lake
from spark_jobs import manifest as manifests
from spark_jobs.__main__ import main
from spark_jobs.fold.job import fold
from spark_jobs.fold.rows import served_rows
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from spark_jobs.jobs import roll_up, rollups
from spark_jobs.kept_facts import TABLE, keep
from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP
from tests.acceptance.homes import NAMES
from tests.fold.recorded import located_events, recorded_jobs
from tests.webapp.pipeline.runs import AT, fact, row, write_run

Rows = dict[tuple[Any, ...], dict[str, Any]]
HOUR = timedelta(hours=1)


class Kept:
    """A lake that takes up hand-written runs, and what roll-ups make of it."""

    def __init__(self, root: Path, *more: str) -> None:
        self.more = more
        self.root, self.commits, self.rolled_up_to, self.runs = root, 0, 0, 0
        self.lake = Lake(str(root / "lake"))
        self.rows: Rows = {}

    def tell(
        self, facts: Iterable[dict[str, Any]], lines: Iterable[dict[str, Any]] = (), **more: Any
    ) -> None:
        tables = {"checkpoint_fact": list(facts), "log_event": list(lines)}
        path = write_run(
            self.root / f"told-{self.commits}",
            tables,
            from_={"jobs": self.commits},
            to={"jobs": self.commits + 1},
            **more,
        )
        keep(self.lake, manifests.read(path))
        self.commits += 1

    def roll_up(self) -> Rows:
        """The rows of one run of the job; ``rows`` then has them as the database would."""
        self.runs += 1
        run_dir = self.root / f"rolled-{self.runs}"
        words = [
            "--lake",
            self.lake.root,
            "--run-dir",
            str(run_dir),
            "--attempt",
            f"{self.root.name}-{self.runs}",
        ]
        assert main(["rollups", *words, "--from", str(self.rolled_up_to), *self.more]) == 0
        manifest = manifests.read(str(run_dir / "manifest.json"))
        assert (manifest.from_seq, manifest.job) == ({TABLE: self.rolled_up_to}, "rollups")
        self.rolled_up_to = manifest.to_seq[TABLE]
        files = manifest.tables[CHECKPOINT_ROLLUP.name].files if manifest.tables else ()
        told = [row for file in files for row in pq.read_table(run_dir / file).to_pylist()]
        found = {tuple(row[name] for name in CHECKPOINT_ROLLUP.key): row for row in told}
        assert len(found) == len(told)
        assert all(
            key not in self.rows or self.rows[key]["as_of"] <= row["as_of"]
            for key, row in found.items()
        )
        self.rows |= found
        return found

    def counts(self, period: str, column: str = "completed_count") -> dict[datetime, int]:
        return {
            row["period_start"]: row[column]
            for row in self.rows.values()
            if row["period"] == period
        }


@pytest.fixture(params=[pytest.param("with Spark", marks=pytest.mark.long), "without"])
def instance(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Kept:
    """In this process and on its session, which no run may stop."""
    if request.param == "without":
        return Kept(tmp_path)
    spark = request.getfixturevalue("spark")
    monkeypatch.setattr(roll_up, "session_of_attempt", lambda *_: _Lent(spark))
    return Kept(tmp_path, "--most-rows-without-spark", "0")


class _Lent:
    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def __enter__(self) -> SparkSession:
        return self._session

    def __exit__(self, *_: object) -> None:
        return None


def test_roll_ups_of_all_recordings_are_those_of_a_recount(instance: Kept) -> None:
    """In halves: first every other checkpoint as far as it was in progress, then all of them."""
    told = {name: list(_facts(name)) for name in NAMES}
    refusals = {name: list(_refusals(name)) for name in NAMES}
    early = [open_fact(one) for facts in told.values() for one in facts[::2]]
    instance.tell(early)
    assert sum(
        row["in_progress_count"] for key, row in instance.roll_up().items() if key[2] == "day"
    ) == len(early)
    instance.tell(
        (one for facts in told.values() for one in facts),
        (line for lines in refusals.values() for line in lines),
    )
    instance.roll_up()
    expected = _recount(
        [one for facts in told.values() for one in facts],
        [line for lines in refusals.values() for line in lines],
    )
    assert instance.rows.keys() == expected.keys()
    for key, counted in expected.items():
        assert _rounded({name: instance.rows[key][name] for name in counted}) == _rounded(
            counted
        ), key
    assert sum(row["preflight_refusals"] or 0 for row in instance.rows.values()) > 0
    assert len(expected) > 2 * len(NAMES) - 1


def test_a_late_fact_corrects_its_hour_and_its_day_and_touches_nothing_else(tmp_path: Path) -> None:
    instance = Kept(tmp_path)
    instance.tell(
        [
            fact(1),
            fact(2, trigger_time=AT + HOUR),
            fact(3, trigger_time=AT + 48 * HOUR),
            fact(4, job_id="b" * 32),
        ]
    )
    instance.roll_up()
    instance.tell([fact(9, trigger_time=AT + timedelta(minutes=5))])
    midnight = AT.replace(hour=0)
    assert instance.roll_up().keys() == {
        ("c", "a" * 32, "hour", AT),
        ("c", "a" * 32, "day", midnight),
    }
    mine = {
        key[2:]: row["completed_count"] for key, row in instance.rows.items() if key[1] == "a" * 32
    }
    assert mine == {
        ("hour", AT): 2, ("hour", AT + HOUR): 1, ("hour", AT + 48 * HOUR): 1,
        ("day", midnight): 3, ("day", midnight + 48 * HOUR): 1,
    }  # fmt: skip


def test_a_key_that_is_taken_back_leaves_its_hour(tmp_path: Path) -> None:
    instance = Kept(tmp_path)
    instance.tell([fact(7, trigger_time=AT + HOUR), fact(8)])
    instance.roll_up()
    gone = [{"cluster": "c", "job_id": "a" * 32, "checkpoint_id": 7, "trigger_time": AT + HOUR}]
    instance.tell([fact(7, trigger_time=AT)], retracted={"checkpoint_fact": gone})
    instance.roll_up()
    assert instance.counts("hour") == {AT: 2, AT + HOUR: 0}
    assert list(instance.counts("day").values()) == [2]


def _noting(read: list[list[Any]], reads: Callable[..., Any]) -> Callable[..., Any]:
    def noted(lake: object, table: str, files: Iterable[Any], *more: Any) -> Any:
        read.append(found := list(files))
        return reads(lake, table, found, *more)

    return noted


def test_nothing_new_is_a_manifest_without_rows_and_without_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roll_up, "session_of_attempt", None)
    instance = Kept(tmp_path)
    assert instance.roll_up() == {}
    instance.tell([])
    assert instance.roll_up() == {}
    assert instance.rolled_up_to == 1


def test_a_table_that_was_replaced_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "rollups",
        "--lake",
        str(tmp_path),
        "--run-dir",
        str(tmp_path / "run"),
        "--attempt",
        "a",
        "--from",
        "4",
    ]
    assert main(words) == 2
    assert "was it replaced? Start with --from 0." in capsys.readouterr().err


def test_a_run_reads_days_that_changed_whatever_lies_before_them(
    instance: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance.tell([fact(1, trigger_time=AT - timedelta(days=day)) for day in range(60)])
    instance.roll_up()
    read: list[list[Any]] = []
    for lake, name in ((roll_up.PinnedLake, "_frame"), (rollups.SmallLake, "_read")):
        monkeypatch.setattr(lake, name, _noting(read, getattr(lake, name)))
    instance.tell([fact(2)])
    instance.roll_up()
    assert all(file.first_time.date() == AT.date() for files in read for file in files)
    assert max(len(files) for files in read) == 2


def open_fact(one: Mapping[str, Any]) -> dict[str, Any]:
    figures = dict.fromkeys(("end_to_end_ms", "state_bytes", "checkpointed_bytes"))
    return {**one, **figures, "outcome": "in_progress", "final": False}


def _facts(name: str) -> Iterator[dict[str, Any]]:
    instants = [column.name for column in CHECKPOINT_FACT.columns if column.kind == "instant"]
    for job in recorded_jobs(name):
        for one in served_rows(fold(job, JobState(), Settings()).facts, CHECKPOINT_FACT):
            at = {
                key: datetime.fromtimestamp(one[key] / 1000, UTC)
                for key in instants
                if one[key] is not None
            }
            yield {**one, **at, "cluster": name, "job_id": job.job_id}


def _refusals(name: str) -> Iterator[dict[str, Any]]:
    for event in located_events(name):
        if (
            event["kind"] == "trigger_refused"
            and event["checkpoint_id"] is None
            and event["job_id"]
        ):
            known = {
                key: event[key]
                for key in ("kind", "job_id", "process", "ts", "record_hash", "ordinal")
            }
            yield row("log_event", **known, cluster=name, as_of=event["observed_at"])


def _recount(facts: list[dict[str, Any]], refusals: list[dict[str, Any]]) -> Rows:
    """Shares no code with the product."""
    held: dict[tuple[Any, ...], tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for one, at, place in [
        *((one, one["trigger_time"], 0) for one in facts),
        *((one, one["ts"], 1) for one in refusals),
    ]:
        hour = at.replace(minute=0, second=0, microsecond=0)
        for period, start in (("hour", hour), ("day", hour.replace(hour=0))):
            held[one["cluster"], one["job_id"], period, start][place].append(one)
    return {key: _counted(key, *told) for key, told in held.items()}


def _counted(
    key: tuple[Any, ...], facts: list[dict[str, Any]], refusals: list[dict[str, Any]]
) -> dict[str, Any]:
    done = [one for one in facts if one["outcome"] == "completed" and not one["is_savepoint"]]
    sized = sorted(
        (one for one in done if one["state_bytes"] is not None),
        key=lambda one: (one["trigger_time"], one["checkpoint_id"]),
    )
    uploads = [one["checkpointed_bytes"] for one in facts if one["checkpointed_bytes"] is not None]
    sizes = [one["state_bytes"] for one in sized]
    return {
        **{
            f"{outcome}_count": sum(one["outcome"] == outcome for one in facts)
            for outcome in ("completed", "declined", "expired", "aborted")
        },
        "savepoint_count": sum(one["is_savepoint"] is True for one in facts),
        "preflight_refusals": len(refusals) or None,
        "end_to_end_p95_ms": _percentile([one["end_to_end_ms"] for one in done], 95),
        "state_bytes_last": sizes[-1] if sizes else None,
        "checkpointed_bytes_sum": sum(uploads) if uploads else None,
        "as_of": max(one["as_of"] for one in [*facts, *refusals]),
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, int | float) else value
        for name, value in row.items()
    }


def _percentile(values: list[Any], p: int) -> float | None:
    known = [value for value in values if value is not None]
    return (
        statistics.quantiles(known, n=100, method="inclusive")[p - 1]
        if len(known) > 1
        else (known[0] if known else None)
    )
