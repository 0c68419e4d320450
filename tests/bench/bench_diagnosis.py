"""50,000 jobs × 20 vertices folded and through all rules in one Spark job: seconds, linear in the
jobs, in a driver of 1 GiB.

Rows are made by Spark itself, as they come out of the steps before: a chain of 20 vertices × 4
subtasks, 20 checkpoints and an earlier window a job. Of 20 jobs 19 are healthy; in the twentieth
the vertex amid the chain back-pressures all before it.
"""

import os
import resource
import tempfile
import time
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.nested_tables import JOB
from spark_jobs.schemas import lake_schema
from spark_jobs.serving import SERVING_TABLES
from spark_jobs.session import open_session
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import FOLDED, folded_batches
from spark_jobs.worker_rows import WorkerRows
from tests.bench.harness import Report
from tests.serving_schemas import serving_schema

JOBS, VERTICES, SUBTASKS, CHECKPOINTS = 50_000, 20, 4, 20
PARTS = ("answers", "windows", "checkpoints")
PRESSURED_EVERY, ORIGIN, WINDOWS = 20, 10, 2
AT_S = 1_772_366_400
"""The start of the judged window."""
VERTEX_KINDS = {"max_parallelism": "bigint", "status": "string"}
"""What the answer of a real cluster tells of a vertex besides, and no rule reads."""
BUDGET_S = 120
OF_FOLD = ("readings", "newest_ts", "counters")
"""Fields of a window that no serving table has."""


def run(report: Report) -> None:
    os.environ.pop("SPARK_REMOTE", None)
    os.environ["SPARK_MASTER"], os.environ["WEIR_SPARK_DRIVER_MEMORY"] = "local[2]", "1g"
    session = open_session("weir-bench")
    try:
        judged(session, 500)  # compiled and loaded once, as in a warm session
        half_s, _ = judged(session, JOBS // 2)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        whole_s, (jobs, occurrences, origins) = judged(session, JOBS)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        session.stop()
    assert jobs == JOBS, jobs
    assert origins == WINDOWS * JOBS // PRESSURED_EVERY, origins
    report(f"diagnosis, {JOBS:,} jobs × {VERTICES} vertices", whole_s, "s", budget=BUDGET_S)
    report("diagnosis, twice the jobs", whole_s, "s", baseline=half_s, budget=2.5)
    report("diagnosis, occurrences a pressured job", WINDOWS * occurrences / origins, "occurrences")
    report("diagnosis, growth of the client's memory", grown / 1024, "MiB", budget=50)


def judged(session: SparkSession, jobs: int) -> tuple[float, tuple[int, int, int]]:
    """Wall time, and how many jobs were judged, occurrences made and origins of pressure named, in each
    window.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _judged(_kept(session, told(session, jobs), folder))


def _kept(session: SparkSession, told: DataFrame, folder: str) -> DataFrame:
    """The same rows out of files: making them is not what is measured."""
    told.write.parquet(f"{folder}/jobs")
    return session.read.schema(told.schema).parquet(f"{folder}/jobs")


def _judged(rows: DataFrame) -> tuple[float, tuple[int, int, int]]:
    started = time.monotonic()
    parts = {name: rows.where(F.col(name).isNotNull()).select(*JOB, f"{name}.*") for name in PARTS}
    folds = WorkerRows(
        folding.group_rows(parts), partial(folded_batches, settings=Settings()), FOLDED
    )
    jobs = folds.frame().where(F.size("job_judgement") > 0).select("finding_occurrence")
    roots = F.size(
        F.filter("finding_occurrence", lambda occurrence: occurrence["rule"] == "pressure.root")
    )
    occurrences = F.size("finding_occurrence")
    counted = jobs.agg(
        F.count(F.lit(1)).alias("jobs"),
        F.sum(occurrences).alias("occurrences"),
        F.sum(roots).alias("roots"),
    ).collect()[0]
    return time.monotonic() - started, (counted.jobs, counted.occurrences, counted.roots)


def told(session: SparkSession, jobs: int) -> DataFrame:
    """Of each job an answer, its windows of this minute and of the one before, and its checkpoints;
    each in a column of its name.
    """
    ids = session.range(0, jobs, numPartitions=8).select(
        F.col("id").alias("number"),
        F.lit("bench").alias("cluster"),
        F.lpad(F.hex("id"), 32, "0").alias("job_id"),
    )
    windows = _windows(ids)
    earlier = {
        "window_start": F.timestamp_seconds(F.lit(AT_S - 60)),
        "newest_ts": F.timestamp_seconds(F.lit(AT_S - 15)),
    }
    both = windows.unionByName(windows.withColumns(earlier))
    parts = {
        "answers": _lake(_answers(ids), "jobs"),
        "windows": both.select(
            *_filled(both, serving_schema(SERVING_TABLES["pressure_window"])), *OF_FOLD
        ).drop("vertex_name"),
        "checkpoints": _lake(_checkpoints(ids), "checkpoints"),
    }
    nested = [
        rows.select(*JOB, F.struct(*(one for one in rows.columns if one not in JOB)).alias(name))
        for name, rows in parts.items()
    ]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), nested)


def _answers(ids: DataFrame) -> DataFrame:
    places = F.sequence(F.lit(0), F.lit(VERTICES - 1))
    vertices = F.transform(
        places,
        lambda n: F.struct(
            _vertex(n).alias("vertex_id"),
            _name(n).alias("name"),
            F.lit(SUBTASKS).cast("bigint").alias("parallelism"),
            *(F.lit(None).cast(kind).alias(name) for name, kind in VERTEX_KINDS.items()),
        ),
    )
    edges = F.transform(
        F.slice(places, 1, VERTICES - 1),
        lambda n: F.struct(
            _vertex(n).alias("source_vertex_id"),
            _vertex(n + 1).alias("target_vertex_id"),
            F.lit("HASH").alias("ship_strategy"),
        ),
    )
    settings = {
        "checkpointing_mode": "exactly_once",
        "checkpoint_interval_ms": 60_000,
        "checkpoint_timeout_ms": 600_000,
        "min_pause_ms": 0,
        "tolerable_failed_checkpoints": 3,
        "externalized": True,
    }
    return ids.withColumns(
        {
            "name": F.format_string("job %d", "number"),
            "state": F.lit("RUNNING"),
            "flink_version": F.lit("1.20.5"),
            "start_time": F.timestamp_seconds(F.lit(AT_S - 86_400)),
            "observed_at": F.timestamp_seconds(F.lit(AT_S + 45)),
            "commit_seq": F.lit(1),
            "vertices": vertices,
            "edges": edges,
            **{name: F.lit(value) for name, value in settings.items()},
        }
    )


def _windows(ids: DataFrame) -> DataFrame:
    """One row a vertex, its readings by subtask."""
    exploded = ids.withColumn("place", F.explode(F.sequence(F.lit(0), F.lit(VERTICES - 1))))
    is_pressured = F.col("number") % PRESSURED_EVERY == 0
    held = is_pressured & (F.col("place") < ORIGIN)
    is_origin = is_pressured & (F.col("place") == ORIGIN)

    def either(of_held: float, of_origin: float, of_others: float) -> Column:
        return (
            F.when(held, F.lit(of_held))
            .when(is_origin, F.lit(of_origin))
            .otherwise(F.lit(of_others))
        )

    measured = {
        "in_pool_usage": either(0.9, 1.0, 0.05),
        "out_pool_usage": either(1.0, 0.25, 0.25),
        "floating_usage": either(0.9, 1.0, 0.0),
        "busy_ratio": either(0.04, 0.99, 0.2),
        "backpressured_ratio": either(0.95, 0.0, 0.0),
        "idle_ratio": either(0.01, 0.01, 0.8),
        "records_in_per_s": F.lit(800.0),
        "records_out_per_s": F.lit(800.0),
        "watermark_ms": F.lit(None).cast("bigint"),
        "host": F.lit("host-1"),
        "taskmanager_id": F.lit("tm-1"),
    }
    whole = {
        "vertex_id": _vertex(F.col("place")),
        "parallelism": F.lit(SUBTASKS),
        "samples": F.lit(2),
    }
    each = {name: F.array_repeat(value, SUBTASKS) for name, value in measured.items()}
    readings = F.struct(*(value.alias(name) for name, value in {**whole, **each}.items()))
    return exploded.withColumns(
        {
            "vertex_id": _vertex(F.col("place")),
            "vertex_name": _name(F.col("place")),
            "parallelism": F.lit(SUBTASKS),
            "samples": F.lit(2),
            "window_start": F.timestamp_seconds(F.lit(AT_S)),
            "window_s": F.lit(60),
            "readings": readings,
            "newest_ts": F.timestamp_seconds(F.lit(AT_S + 45)),
            "as_of": F.timestamp_seconds(F.lit(AT_S + 45)),
            # none of them was told
            "counters": F.struct(
                *(F.lit(None).cast("string").alias(name) for name in ("first", "newest"))
            ),
            "backpressured_share": either(1.0, 0.0, 0.0),
            "busy_share": either(0.0, 1.0, 0.0),
            "records_in_per_s": F.lit(3200.0),
            "records_out_per_s": F.lit(3200.0),
        }
    )


def _checkpoints(ids: DataFrame) -> DataFrame:
    trigger_s = F.lit(AT_S - 60 * CHECKPOINTS) + 60 * F.col("checkpoint_id")
    figures = {
        "end_to_end_ms": 2000,
        "state_bytes": 10**9,
        "checkpointed_bytes": 10**7,
        "subtasks": VERTICES * SUBTASKS,
        "acknowledged": VERTICES * SUBTASKS,
        "commit_seq": 1,
    }
    numbered = ids.withColumn(
        "checkpoint_id", F.explode(F.sequence(F.lit(1), F.lit(CHECKPOINTS).cast("bigint")))
    )
    return numbered.withColumns(
        {
            "trigger_time": F.timestamp_seconds(trigger_s),
            "status": F.lit("COMPLETED"),
            "is_savepoint": F.lit(False),
            "checkpoint_type": F.lit("CHECKPOINT"),
            "observed_at": F.timestamp_seconds(trigger_s + 2),
            "external_path": F.format_string(
                "file:/checkpoints/%s/chk-%d", "job_id", "checkpoint_id"
            ),
            **{name: F.lit(value).cast("bigint") for name, value in figures.items()},
        }
    )


def _lake(rows: DataFrame, table: str) -> DataFrame:
    return rows.select(*_filled(rows, lake_schema(table)))


def _filled(rows: DataFrame, schema: T.StructType) -> list[Column]:
    """The columns of a table, null where ``rows`` has none."""
    return [
        (F.col(field.name) if field.name in rows.columns else F.lit(None))
        .cast(field.dataType)
        .alias(field.name)
        for field in schema
    ]


def _vertex(place: Column) -> Column:
    return F.lpad(F.hex(place), 32, "a")


def _name(place: Column) -> Column:
    return F.format_string("vertex %d", place)
