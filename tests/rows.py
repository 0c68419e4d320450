"""Small builders: lake and serving rows in which a test names only what it is about, as datetimes
for Spark or as epoch ms for the fold.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.flink_logs.events import LogEvent
from ingest.lake.derived import ALL_TABLES
from spark_jobs.serving import SERVING_TABLES

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
JOB = "0" * 31 + "1"
VERTEX = "a" * 32
EVENT = (*(field.name for field in fields(LogEvent)), "cluster", "observed_at", "vertex_name")

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Clock:
    """Instants by seconds after noon.

    ``noon`` and ``ms``, a millisecond, are of the types that the rows have.
    """

    noon: Any
    ms: Any

    def __call__(self, seconds: float = 0) -> Any:
        return self.noon + self.ms * round(seconds * 1000)


AWARE = Clock(NOON, timedelta(milliseconds=1))
EPOCH_MS = Clock(round(NOON.timestamp() * 1000), 1)


def lake_values(table: str, rows: Iterable[Row], clock: Clock) -> Iterator[dict[str, Any]]:
    """Rows of a lake table; cluster, job, observation and commit have defaults, all else is None."""
    declared = ALL_TABLES[table]
    default = {
        "cluster": "c",
        "job_id": JOB,
        "observed_at": clock(),
        "source": "rest",
        "commit_seq": 1,
        "date": NOON.date(),
    }
    for row in rows:
        whole = default | {declared.time_column: row.get("observed_at", clock())} | dict(row)
        _known(whole, {*declared.schema.names, "job_id"}, table)
        yield {name: whole.get(name) for name in declared.schema.names}


def fact_values(rows: Iterable[Row], clock: Clock) -> Iterator[dict[str, Any]]:
    """``checkpoint_fact`` rows: completed checkpoints, one a minute from noon, unless a test says
    otherwise.
    """
    filled = []
    for number, row in enumerate(rows, start=1):
        checkpoint_id = row.get("checkpoint_id", number)
        trigger_time = row.get("trigger_time", clock(60 * checkpoint_id))
        default = {
            "checkpoint_id": checkpoint_id,
            "trigger_time": trigger_time,
            "outcome": "completed",
            "is_savepoint": False,
            "final": row.get("outcome") != "in_progress",
            "end_time": trigger_time + clock.ms * (row.get("end_to_end_ms") or 0),
            "as_of": trigger_time,
        }
        filled.append(default | dict(row))
    return serving_values("checkpoint_fact", filled, clock)


def serving_values(table: str, rows: Iterable[Row], clock: Clock) -> Iterator[dict[str, Any]]:
    names = SERVING_TABLES[table].column_names
    default = {"cluster": "c", "job_id": JOB, "as_of": clock()}
    for row in rows:
        _known(row, set(names), table)
        yield {name: (default | dict(row)).get(name) for name in names}


def event_values(rows: Iterable[Row], clock: Clock) -> Iterator[dict[str, Any]]:
    """Located log events of a JobManager log; ``at`` orders them, each is a record of its own."""
    for number, row in enumerate(rows):
        default = {
            "cluster": "c",
            "job_id": JOB,
            "process": "jm.log",
            "ts": clock(),
            "level": "INFO",
            "observed_at": row.get("ts", clock()),
            "record_hash": f"{number:032x}",
            "ordinal": 0,
            "file": "jm.log",
            "offset": number,
        }
        whole = default | dict(row)
        _known(whole, set(EVENT), "events")
        yield {name: whole.get(name) for name in EVENT}


def _known(row: Row, names: set[str], where: str) -> None:
    unknown = set(row) - names
    assert not unknown, f"{where} has no {', '.join(sorted(unknown))}"
