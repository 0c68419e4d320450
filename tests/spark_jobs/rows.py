"""Small builders: frames of lake and serving rows in which a test names only what it is about."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, get_args, get_type_hints

from pyspark.sql import DataFrame, SparkSession

from ingest.flink_logs.events import LogEvent
from ingest.lake.tables import TABLES
from spark_jobs.schemas import lake_schema, serving_schema

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
JOB = "0" * 31 + "1"
VERTEX = "a" * 32

Row = Mapping[str, Any]


def noon(seconds: float = 0) -> datetime:
    return NOON + timedelta(seconds=seconds)


def lake_rows(spark: SparkSession, table: str, rows: Iterable[Row]) -> DataFrame:
    """Rows of a raw table; cluster, job, observation and commit have defaults, all else is null."""
    schema = lake_schema(table)
    declared = TABLES[table]
    default = {"cluster": "c", "job_id": JOB, "observed_at": NOON, "source": "rest", "commit_seq": 1, "date": NOON.date()}
    filled = []
    for row in rows:
        whole = default | {declared.time_column: row.get("observed_at", NOON)} | dict(row)
        _known(whole, {*schema.names, "job_id"}, table)
        filled.append(tuple(whole.get(name) for name in schema.names))
    return spark.createDataFrame(filled, schema)


def facts(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """``checkpoint_fact`` rows: completed checkpoints, one a minute from noon, unless a test says otherwise."""
    filled = []
    for number, row in enumerate(rows, start=1):
        checkpoint_id = row.get("checkpoint_id", number)
        trigger_time = row.get("trigger_time", noon(60 * checkpoint_id))
        default = {
            "checkpoint_id": checkpoint_id, "trigger_time": trigger_time, "outcome": "completed",
            "is_savepoint": False, "final": row.get("outcome") != "in_progress",
            "end_time": trigger_time + timedelta(milliseconds=row.get("end_to_end_ms") or 0), "as_of": trigger_time,
        }  # fmt: skip
        filled.append(default | dict(row))
    return serving_frame(spark, "checkpoint_fact", filled)


def serving_frame(spark: SparkSession, table: str, rows: Iterable[Row]) -> DataFrame:
    schema = serving_schema(table)
    default = {"cluster": "c", "job_id": JOB, "as_of": NOON}
    filled = []
    for row in rows:
        _known(row, set(schema.names), table)
        filled.append(tuple((default | dict(row)).get(name) for name in schema.names))
    return spark.createDataFrame(filled, schema)


_type_of_field = {str: "string", int: "bigint", bool: "boolean", datetime: "timestamp"}


def events(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Located log events of a JobManager log; ``at`` orders them, each is a record of its own."""
    types = {name: _type_of_field[_plain(hint)] for name, hint in get_type_hints(LogEvent).items()}
    types |= {"cluster": "string", "observed_at": "timestamp", "vertex_name": "string"}
    filled = []
    for number, row in enumerate(rows):
        default = {
            "cluster": "c", "job_id": JOB, "process": "jm.log", "ts": NOON, "level": "INFO", "observed_at": row.get("ts", NOON),
            "record_hash": f"{number:032x}", "ordinal": 0, "file": "jm.log", "offset": number,
        }  # fmt: skip
        whole = default | dict(row)
        _known(whole, set(types), "events")
        filled.append(tuple(whole.get(name) for name in types))
    return spark.createDataFrame(filled, ", ".join(f"`{name}` {type_}" for name, type_ in types.items()))


def collected(df: DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts; instants aware, in UTC (Spark hands them out naive, in the machine's time zone)."""
    return [{name: _aware(value) for name, value in row.asDict(recursive=True).items()} for row in df.collect()]


def only(df: DataFrame) -> dict[str, Any]:
    """The one row of a frame that must have exactly one."""
    (row,) = collected(df)
    return row


def _aware(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def _plain(hint: Any) -> type:
    """``int`` of ``int | None``."""
    return next(iter(get_args(hint)), hint)  # type: ignore[no-any-return]


def _known(row: Row, names: set[str], where: str) -> None:
    unknown = set(row) - names
    assert not unknown, f"{where} has no {', '.join(sorted(unknown))}"
