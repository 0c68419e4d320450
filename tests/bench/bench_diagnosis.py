"""50,000 jobs × 20 vertices folded and through all rules in one Spark job: seconds, linear in the jobs, in a driver of 1 GiB.

Rows are made by Spark itself, as they come out of the steps before: a chain of 20 vertices × 4 subtasks, 20 checkpoints
and an earlier window a job. Of 20 jobs 19 are healthy; in the twentieth the vertex amid the chain holds back all before it.
"""

import os
import resource
import tempfile
import time

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.fold.judging import Settings
from spark_jobs.schemas import lake_schema, serving_schema
from spark_jobs.serving import SERVING_TABLES, ServingTable
from spark_jobs.session import open_session
from spark_jobs.transforms import folding
from spark_jobs.transforms.fold_batches import JOB
from spark_jobs.transforms.pressure import PAST, vertex_window_samples
from tests.bench.harness import Report

JOBS, VERTICES, SUBTASKS, CHECKPOINTS = 50_000, 20, 4, 20
PRESSURED_EVERY, ORIGIN = 20, 10
AT_S = 1_772_366_400
"""The start of the judged window."""
VERTEX_KINDS = {"max_parallelism": "bigint", "status": "string", "running_tasks": "bigint"}
"""What the answer of a real cluster tells of a vertex besides, and no rule reads."""
BUDGET_S = 120


def run(report: Report) -> None:
    os.environ.pop("SPARK_REMOTE", None)
    os.environ["SPARK_MASTER"], os.environ["WEIR_SPARK_DRIVER_MEMORY"] = "local[2]", "1g"
    session = open_session("weir-bench")
    try:
        judged(session, 500)  # compiled and loaded once, as in a warm session
        half_s, _ = judged(session, JOBS // 2)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        whole_s, (jobs, sights, origins) = judged(session, JOBS)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        session.stop()
    assert jobs == JOBS, jobs
    assert origins == JOBS // PRESSURED_EVERY, origins
    report(f"diagnosis, {JOBS:,} jobs × {VERTICES} vertices", whole_s, "s", budget=BUDGET_S)
    report("diagnosis, twice the jobs", whole_s, "s", baseline=half_s, budget=2.5)
    report("diagnosis, sights a pressured job", sights / origins, "sights")
    report("diagnosis, growth of the client's memory", grown / 1024, "MiB", budget=50)


def judged(session: SparkSession, jobs: int) -> tuple[float, tuple[int, int, int]]:
    """Wall time, and how many jobs were judged, sights made and origins of pressure named."""
    with tempfile.TemporaryDirectory() as folder:
        return _judged(_kept(session, told(session, jobs), folder))


def _kept(session: SparkSession, told: DataFrame, folder: str) -> DataFrame:
    """The same rows out of files: making them is not what is measured."""
    told.write.parquet(f"{folder}/jobs")
    return session.read.schema(told.schema).parquet(f"{folder}/jobs")


def _judged(jobs: DataFrame) -> tuple[float, tuple[int, int, int]]:
    started = time.monotonic()
    rows = folding.folded(jobs, Settings()).where(F.col("judgement").isNotNull()).select("judgement.sights")
    roots = F.size(F.filter("sights", lambda sight: sight["rule"] == "pressure.root"))
    counted = rows.agg(F.count(F.lit(1)).alias("jobs"), F.sum(F.size("sights")).alias("sights"), F.sum(roots).alias("roots")).collect()[0]
    return time.monotonic() - started, (counted.jobs, counted.sights, counted.roots)


def told(session: SparkSession, jobs: int) -> DataFrame:
    """Nested jobs: of each, an answer, its windows of this minute and of the one before, and its facts from earlier runs."""
    ids = session.range(0, jobs, numPartitions=8).select(
        F.col("id").alias("number"), F.lit("bench").alias("cluster"), F.lpad(F.hex("id"), 32, "0").alias("job_id")
    )
    windows = _serving(_windows(ids), SERVING_TABLES["pressure_window"], "readings", "newest_ts")
    before = windows.withColumn("window_start", F.timestamp_seconds(F.lit(AT_S - 60)))
    news = {
        "answers": _lake(_answers(ids), "jobs"),
        "vertex_windows": vertex_window_samples(windows),
        "pressure": before.select(*JOB, *PAST),
        # Nothing of earlier checkpoints is told again.
        "touched": session.createDataFrame([], "cluster string, job_id string, checkpoint_id bigint, trigger_time timestamp"),
    }
    since = folding.earliest([(windows, "window_start")])
    state = session.createDataFrame([], folding.STATE_SCHEMA)
    return folding.jobs(news, since, _serving(_facts(ids), SERVING_TABLES["checkpoint_fact"]), state, is_partial=True)


def _answers(ids: DataFrame) -> DataFrame:
    places = F.sequence(F.lit(0), F.lit(VERTICES - 1))
    vertices = F.transform(
        places,
        lambda n: F.struct(
            _vertex(n).alias("vertex_id"), _name(n).alias("name"), F.lit(SUBTASKS).cast("bigint").alias("parallelism"),
            *(F.lit(None).cast(kind).alias(name) for name, kind in VERTEX_KINDS.items()),
        ),
    )  # fmt: skip
    edges = F.transform(
        F.slice(places, 1, VERTICES - 1),
        lambda n: F.struct(
            _vertex(n).alias("source_vertex_id"), _vertex(n + 1).alias("target_vertex_id"), F.lit("HASH").alias("ship_strategy")
        ),
    )
    settings = {"checkpointing_mode": "exactly_once", "checkpoint_interval_ms": 60_000, "checkpoint_timeout_ms": 600_000,
                "min_pause_ms": 0, "tolerable_failed_checkpoints": 3, "externalized": True}  # fmt: skip
    return ids.withColumns(
        {
            "name": F.format_string("job %d", "number"), "state": F.lit("RUNNING"), "flink_version": F.lit("1.20.5"),
            "start_time": F.timestamp_seconds(F.lit(AT_S - 86_400)), "observed_at": F.timestamp_seconds(F.lit(AT_S + 45)),
            "commit_seq": F.lit(1), "vertices": vertices, "edges": edges, **{name: F.lit(value) for name, value in settings.items()},
        }
    )  # fmt: skip


def _windows(ids: DataFrame) -> DataFrame:
    """One row a vertex, its readings by subtask."""
    exploded = ids.withColumn("place", F.explode(F.sequence(F.lit(0), F.lit(VERTICES - 1))))
    is_pressured = F.col("number") % PRESSURED_EVERY == 0
    held, is_origin = is_pressured & (F.col("place") < ORIGIN), is_pressured & (F.col("place") == ORIGIN)

    def either(of_held: float, of_origin: float, of_others: float) -> Column:
        return F.when(held, F.lit(of_held)).when(is_origin, F.lit(of_origin)).otherwise(F.lit(of_others))

    measured = {
        "in_pool_usage": either(0.9, 1.0, 0.05), "out_pool_usage": either(1.0, 0.25, 0.25), "exclusive_usage": either(0.9, 1.0, 0.05),
        "floating_usage": either(0.9, 1.0, 0.0), "busy_ms_per_s": either(40.0, 990.0, 200.0),
        "backpressured_ms_per_s": either(950.0, 0.0, 0.0), "idle_ms_per_s": either(10.0, 10.0, 800.0),
        "backpressured_ratio": F.lit(None).cast("double"), "records_in_per_s": F.lit(800.0), "records_out_per_s": F.lit(800.0),
    }  # fmt: skip
    reading = [value.alias(name) for name, value in measured.items()]
    place = [F.lit(None).cast("bigint").alias("watermark_ms"), F.lit("host-1").alias("host"), F.lit("tm-1").alias("taskmanager_id")]
    readings = F.transform(F.sequence(F.lit(0), F.lit(SUBTASKS - 1)), lambda n: F.struct(n.alias("subtask"), *reading, *place))
    return exploded.withColumns(
        {
            "vertex_id": _vertex(F.col("place")), "vertex_name": _name(F.col("place")), "parallelism": F.lit(SUBTASKS),
            "samples": F.lit(2), "window_start": F.timestamp_seconds(F.lit(AT_S)), "window_s": F.lit(60), "readings": readings,
            "newest_ts": F.timestamp_seconds(F.lit(AT_S + 45)), "backpressured_share": either(1.0, 0.0, 0.0),
            "busy_share": either(0.0, 1.0, 0.0), "records_in_per_s": F.lit(3200.0), "records_out_per_s": F.lit(3200.0),
        }
    )  # fmt: skip


def _facts(ids: DataFrame) -> DataFrame:
    trigger_s = F.lit(AT_S - 60 * CHECKPOINTS) + 60 * F.col("checkpoint_id")
    figures = {"end_to_end_ms": 2000, "state_bytes": 10**9, "checkpointed_bytes": 10**7, "subtasks": VERTICES * SUBTASKS,
               "acknowledged": VERTICES * SUBTASKS, "start_delay_ms": 100, "alignment_ms": 20, "sync_ms": 30, "async_ms": 1500,
               "slowest_end_to_end_ms": 2000, "slowest_start_delay_ms": 100, "slowest_alignment_ms": 20, "slowest_sync_ms": 30,
               "slowest_async_ms": 1500}  # fmt: skip
    numbered = ids.withColumn("checkpoint_id", F.explode(F.sequence(F.lit(1), F.lit(CHECKPOINTS).cast("bigint"))))
    return numbered.withColumns(
        {
            "trigger_time": F.timestamp_seconds(trigger_s), "end_time": F.timestamp_seconds(trigger_s + 2), "outcome": F.lit("completed"),
            "final": F.lit(True), "is_savepoint": F.lit(False), "checkpoint_type": F.lit("CHECKPOINT"),
            "slowest_vertex_name": F.lit("vertex 3"), "slowest_host": F.lit("host-1"), "dominant_phase": F.lit("async"),
            "as_of": F.timestamp_seconds(trigger_s + 2),
            "external_path": F.format_string("file:/checkpoints/%s/chk-%d", "job_id", "checkpoint_id"),
            **{name: F.lit(value).cast("bigint") for name, value in figures.items()},
        }
    )  # fmt: skip


def _serving(rows: DataFrame, table: ServingTable, *more: str) -> DataFrame:
    return rows.select(*_filled(rows, serving_schema(table)), *more)


def _lake(rows: DataFrame, table: str) -> DataFrame:
    return rows.select(*_filled(rows, lake_schema(table)))


def _filled(rows: DataFrame, schema: T.StructType) -> list[Column]:
    """The columns of a table, null where ``rows`` has none."""
    return [(F.col(field.name) if field.name in rows.columns else F.lit(None)).cast(field.dataType).alias(field.name) for field in schema]


def _vertex(place: Column) -> Column:
    return F.lpad(F.hex(place), 32, "a")


def _name(place: Column) -> Column:
    return F.format_string("vertex %d", place)
