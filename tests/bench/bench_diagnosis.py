"""50,000 jobs × 20 vertices through all rules in one Spark job: seconds, linear in the jobs, in a driver of 1 GiB.

Rows are made by Spark itself, as they come out of the steps before: a chain of 20 vertices × 4 subtasks, 20 checkpoints
and an earlier window a job. Of 20 jobs 19 are healthy; in the twentieth the vertex amid the chain holds back all before it.
"""

import os
import resource
import tempfile
import time
from dataclasses import fields

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.lake.tables import TABLES
from spark_jobs.schemas import lake_schema, serving_schema
from spark_jobs.serving import SERVING_TABLES, ServingTable
from spark_jobs.session import open_session
from spark_jobs.transforms import diagnosed, executions, job_windows, log_events
from tests.bench.harness import Report

JOBS, VERTICES, SUBTASKS, CHECKPOINTS = 50_000, 20, 4, 20
PRESSURED_EVERY, ORIGIN = 20, 10
AT_S = 1_772_366_400
"""The start of the judged window."""
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


def _kept(session: SparkSession, told: job_windows.Told, folder: str) -> job_windows.Told:
    """The same rows out of files, as most of them are in a cycle: making them is not what is measured."""
    frames = {}
    for field in fields(told):
        frame: DataFrame = getattr(told, field.name)
        frame.write.parquet(f"{folder}/{field.name}")
        frames[field.name] = session.read.schema(frame.schema).parquet(f"{folder}/{field.name}")
    return job_windows.Told(**frames)


def _judged(told: job_windows.Told) -> tuple[float, tuple[int, int, int]]:
    started = time.monotonic()
    rows = diagnosed.diagnosed(job_windows.job_windows(told))
    roots = F.size(F.filter("sights", lambda sight: sight["rule"] == "pressure.root"))
    counted = rows.agg(F.count(F.lit(1)).alias("jobs"), F.sum(F.size("sights")).alias("sights"), F.sum(roots).alias("roots")).collect()[0]
    return time.monotonic() - started, (counted.jobs, counted.sights, counted.roots)


def told(session: SparkSession, jobs: int) -> job_windows.Told:
    ids = session.range(0, jobs, numPartitions=8).select(
        F.col("id").alias("number"), F.lit("bench").alias("cluster"), F.lpad(F.hex("id"), 32, "0").alias("job_id")
    )
    windows = _serving(_windows(ids), SERVING_TABLES["pressure_window"], "readings", "newest_ts")
    nothing = {name: session.createDataFrame([], serving_schema(name)) for name in ("job_exception", "size_trend", "checkpoint_upload")}
    return job_windows.Told(
        instants=job_windows.instants([(windows, "newest_ts")]),
        judged=session.createDataFrame([], job_windows.JUDGED_SCHEMA),
        job_current=_serving(_jobs(ids), SERVING_TABLES["job_current"]),
        jobs=session.createDataFrame([], lake_schema("jobs")),
        events=_no_events(session),
        facts=_serving(_facts(ids), SERVING_TABLES["checkpoint_fact"]),
        annotations=_serving(_deployments(ids), SERVING_TABLES["job_annotation"]),
        failures=nothing["job_exception"],
        size_trends=nothing["size_trend"],
        vertex_windows=windows,
        pressure=_serving(_windows(ids), SERVING_TABLES["pressure_window"]).withColumn(
            "window_start", F.timestamp_seconds(F.lit(AT_S - 60))
        ),
        vertex_states=session.createDataFrame([], job_windows.VERTEX_STATES_SCHEMA),
        uploads=nothing["checkpoint_upload"],
    )


def _jobs(ids: DataFrame) -> DataFrame:
    places = F.sequence(F.lit(0), F.lit(VERTICES - 1))
    vertices = F.transform(
        places, lambda n: F.struct(_vertex(n).alias("vertex_id"), _name(n).alias("name"), F.lit(SUBTASKS).alias("parallelism"))
    )
    edges = F.transform(
        F.slice(places, 1, VERTICES - 1),
        lambda n: F.struct(_vertex(n).alias("source"), _vertex(n + 1).alias("target"), F.lit("HASH").alias("ship_strategy")),
    )
    config = {"mode": "exactly_once", "interval_ms": 60_000, "timeout_ms": 600_000, "min_pause_ms": 0, "tolerable_failed": 3}
    settings = F.struct(*(F.lit(value).alias(name) for name, value in config.items()), F.lit(True).alias("externalized"))
    return ids.withColumns(
        {
            "name": F.format_string("job %d", "number"), "state": F.lit("RUNNING"), "terminal": F.lit(False),
            "flink_version": F.lit("1.20.5"), "start_time": F.timestamp_seconds(F.lit(AT_S - 86_400)),
            "graph": F.to_json(F.struct(vertices.alias("vertices"), edges.alias("edges"))), "checkpoint_config": F.to_json(settings),
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
            "external_path": F.format_string("file:/checkpoints/%s/chk-%d", "job_id", "checkpoint_id"),
            **{name: F.lit(value).cast("bigint") for name, value in figures.items()},
        }
    )  # fmt: skip


def _deployments(ids: DataFrame) -> DataFrame:
    return ids.withColumns(
        {"at": F.timestamp_seconds(F.lit(AT_S - 86_400)), "kind": F.lit("deploy"), "subject": F.lit(""), "label": F.lit("submitted")}
    )


def _no_events(session: SparkSession) -> DataFrame:
    records = session.createDataFrame([], lake_schema(TABLES["log_records"].name))
    return executions.locate(log_events.events(records), session.createDataFrame([], executions.EXECUTION_SCHEMA))


def _serving(rows: DataFrame, table: ServingTable, *more: str) -> DataFrame:
    """The columns of a serving table, null where ``rows`` has none."""
    filled = [
        (F.col(field.name) if field.name in rows.columns else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in serving_schema(table)
    ]
    return rows.select(*filled, *more)


def _vertex(place: Column) -> Column:
    return F.lpad(F.hex(place), 32, "a")


def _name(place: Column) -> Column:
    return F.format_string("vertex %d", place)
