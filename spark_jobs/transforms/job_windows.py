"""What the rules read: everything told of a job around its judged windows, nested into a few rows of it.

A window is judged where something new falls into it. One row holds the judged windows of ``CHUNK_S``, so that
a cycle makes one row or two of a job, and an import of a week a row for every ten minutes. History is cut to
what the newest of its windows may look back to; :mod:`spark_jobs.transforms.window_rows` deals it out to each.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.window_contents import (
    ANNOTATIONS,
    CHECKPOINTS,
    DETAIL_CHARS,
    EVENTS,
    FAILURES,
    MESSAGE_CHARS,
    UPLOADS,
    WINDOW_MS,
)
from spark_jobs.serving import (
    CHECKPOINT_FACT,
    CHECKPOINT_UPLOAD,
    JOB_ANNOTATION,
    JOB_EXCEPTION,
    LOG_EVENT,
    PRESSURE_WINDOW,
    SIZE_TREND,
    ServingTable,
)
from spark_jobs.transforms.checkpoint_triggers import KEY
from spark_jobs.transforms.job_sights import JOB
from spark_jobs.transforms.log_events import serving as log_event_rows
from spark_jobs.transforms.pressure import FULL_MS_PER_S
from spark_jobs.transforms.replays import newest_by

CHUNK_S = 600
CHUNK_MS = 1000 * CHUNK_S

WINDOWS_PER_RUN = 1440
"""Of one job; a run that brings more data judges the newest ones."""
HISTORY_PER_RUN = 5000
"""Checkpoints, events, … of one job that a run looks through."""
PAST_MS = 2 * 3600 * 1000

KEPT = {"checkpoints": CHECKPOINTS, "annotations": ANNOTATIONS, "failures": FAILURES, "events": EVENTS, "states": 200, "uploads": UPLOADS}
"""How many of each from before a row's chunk go with it, the newest: its first window may look back to as many."""


VERTEX_STATES_SCHEMA = (
    "cluster string, job_id string, at bigint, "
    "states array<struct<vertex_id: string, checkpoint_id: bigint, trigger_time_ms: bigint, subtask_state_bytes: array<bigint>>>"
)
JUDGED_SCHEMA = "cluster string, job_id string, window_start timestamp, judged_to timestamp"


@dataclass(frozen=True)
class Told:
    """All that was told of the touched jobs; rows of other jobs do no harm.

    ``instants`` (cluster, job_id, at): when something new happened. ``judged``: the newest window that earlier
    runs judged, and its instant. ``vertex_windows`` as :func:`pressure.vertex_windows` makes them, of this
    run; ``pressure`` also those before. ``vertex_states`` as :func:`vertex_states` makes them. The others are serving
    rows, ``jobs`` rows of the lake, ``events`` located events.
    """

    instants: DataFrame
    judged: DataFrame
    job_current: DataFrame
    jobs: DataFrame
    events: DataFrame
    facts: DataFrame
    annotations: DataFrame
    failures: DataFrame
    size_trends: DataFrame
    vertex_windows: DataFrame
    pressure: DataFrame
    vertex_states: DataFrame
    uploads: DataFrame


def instants(timed: Iterable[tuple[DataFrame, str | Column]]) -> DataFrame:
    """(cluster, job_id, at) of all rows of frames that name a job, each with its instant."""
    every = [frame.select(*JOB, (F.col(at) if isinstance(at, str) else at).alias("at")) for frame, at in timed]
    return reduce(DataFrame.unionByName, every).where(F.col("job_id").isNotNull() & F.col("at").isNotNull())


def vertex_states(vertex_checkpoints: DataFrame, facts: DataFrame, carried: DataFrame) -> DataFrame:
    """Full state per subtask of the newest completed checkpoint in each chunk: (cluster, job_id, at, states).

    ``carried`` is an earlier result.
    """
    completed = facts.where((F.col("outcome") == "completed") & ~F.coalesce("is_savepoint", F.lit(False)))
    # Releases that report no uploaded bytes give these as the state's, which they are not.
    is_full = (F.size("subtask_state_bytes") > 0) & (F.size("subtask_checkpointed_bytes") > 0)
    told = vertex_checkpoints.where(is_full).join(completed.select(*KEY), on=list(KEY), how="left_semi")
    best = told.groupBy(*KEY, "vertex_id").agg(F.max(F.struct("acknowledged", "subtask_state_bytes")).alias("best"))
    state = F.struct(
        "vertex_id", "checkpoint_id", F.unix_millis("trigger_time").alias("trigger_time_ms"), F.col("best.subtask_state_bytes")
    )
    whole = best.groupBy(*KEY).agg(F.sort_array(F.collect_list(state)).alias("states"))
    every = whole.select(*JOB, F.unix_millis("trigger_time").alias("at"), "states").unionByName(carried.select(*JOB, "at", "states"))
    return newest_by(every.withColumn("chunk", _chunk(F.col("at"))), (*JOB, "chunk"), ("at",)).drop("chunk")


def job_windows(told: Told) -> DataFrame:
    """One row for each job and chunk in which a window is to be judged."""
    chunks = _chunks(told)
    touched = chunks.select(*JOB).distinct()
    whole = _history(told).join(touched, on=list(JOB), how="left_semi").groupBy(*JOB).agg(
        F.max("job").alias("job"),
        F.max("size_trend").alias("size_trend"),
        *(_newest_first_cut(name) for name in (*KEPT, "past")),
    )  # fmt: skip
    rows = chunks.join(whole, on=list(JOB), how="left")
    until, since = F.col("chunk") + CHUNK_MS, F.col("chunk")
    histories = {name: _last(F.filter(name, lambda one: one["at"] < until), since, kept) for name, kept in KEPT.items()}
    past = F.filter("past", lambda one: (one["at"] < until) & (one["at"] >= since - PAST_MS))
    return rows.select(
        *JOB, "newest_ms", "windows", "vertex_windows", "states_now", "states_before", "job", "size_trend",
        *(column.alias(name) for name, column in histories.items()), past.alias("past"),
    )  # fmt: skip


def _chunks(told: Told) -> DataFrame:
    """Judged windows, what vertices did in them, and the state at their time: (cluster, job_id, chunk, …)."""
    window = F.unix_millis("window_start").alias("window_start_ms")
    readings = told.vertex_windows.select(*JOB, window, _vertex_window().alias("vertex_window"))
    states = told.vertex_states.select(*JOB, F.col("at").alias("window_start_ms"), F.struct("at", "states").alias("state"))
    parts = _union([_judged(told), readings, states]).withColumn("chunk", _chunk(F.col("window_start_ms")))
    # Everything of a job in one place: the look-back below and the history both need it there.
    nested = parts.repartition(*JOB).groupBy(*JOB, "chunk").agg(
        F.max("newest_ms").alias("newest_ms"),
        F.sort_array(F.collect_list(F.when(F.col("newest_ms").isNotNull(), F.col("window_start_ms")))).alias("windows"),
        F.collect_list("vertex_window").alias("vertex_windows"),
        F.max("state").alias("state"),
    )  # fmt: skip
    in_order = Window.partitionBy(*JOB).orderBy("chunk").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = Window.partitionBy(*JOB).orderBy("chunk").rowsBetween(Window.unboundedPreceding, -1)
    looked_back = nested.withColumns(
        {
            "states_now": F.last("state", ignorenulls=True).over(in_order),
            "states_before": F.last("state", ignorenulls=True).over(before),
        }
    )
    return looked_back.where(F.size("windows") > 0)


def _judged(told: Told) -> DataFrame:
    """(cluster, job_id, window_start_ms, newest_ms): windows that something new falls into, and the one that was still running."""
    at_ms = F.unix_millis("at")
    new = told.instants.select(*JOB, at_ms.alias("at_ms"), _floor(at_ms, WINDOW_MS).alias("window_start_ms"))
    before = told.judged.select(*JOB, F.unix_millis("window_start").alias("before_ms"), F.unix_millis("judged_to").alias("judged_to_ms"))
    ended = told.job_current.where("terminal").select(*JOB, F.unix_millis("end_time").alias("ended_ms"))
    by_job = _union([new, before, ended]).groupBy(*JOB).agg(
        F.collect_set("window_start_ms").alias("touched"),
        F.max("before_ms").alias("before_ms"),
        F.max("ended_ms").alias("ended_ms"),
        F.greatest(F.max("at_ms"), F.max("judged_to_ms")).alias("newest_ms"),
    )  # fmt: skip
    unfinished = F.filter(F.array("before_ms"), lambda start: start < F.array_max("touched"))
    known = F.filter(F.array_union("touched", unfinished), lambda start: start <= F.coalesce("ended_ms", start))
    newest = F.slice(F.sort_array(known, asc=False), 1, WINDOWS_PER_RUN)
    return by_job.select(*JOB, "newest_ms", F.explode(newest).alias("window_start_ms"))


def _history(told: Told) -> DataFrame:
    """What is told of jobs, each row with one of the columns ``job``, ``size_trend``, and {at, row} of ``KEPT`` and ``past``."""
    started, ended = F.unix_millis("start_time"), F.unix_millis("end_time")
    job = F.struct(
        "name", "state", started.alias("start_time_ms"), ended.alias("end_time_ms"), "flink_version", "graph", "checkpoint_config"
    )
    by_rest = told.jobs.where(F.col("job_id").isNotNull()).select(*JOB, F.explode("state_since").alias("entered"))
    by_log = told.events.where(F.col("kind").isin("job_state", "job_terminal") & F.col("to_state").isNotNull())
    states = by_rest.select(*JOB, F.col("entered.since").alias("at"), "entered.state").unionByName(
        by_log.select(*JOB, F.col("ts").alias("at"), F.col("to_state").alias("state"))
    )
    # A wrongly declared time zone may date a line after the moment it was read.
    events = log_event_rows(told.events).withColumns(
        {
            "ts": F.least("ts", "as_of"),
            "message": F.substring("message", 1, MESSAGE_CHARS),
            "detail": F.substring("detail", 1, DETAIL_CHARS),
        }
    )
    return _union(
        [
            told.job_current.select(*JOB, job.alias("job")),
            told.size_trends.select(*JOB, F.struct(*_columns(samples.SizeTrend, SIZE_TREND)).alias("size_trend")),
            states.distinct().select(*JOB, F.struct(F.unix_millis("at").alias("at"), "state").alias("states")),
            _timed(told.facts, "checkpoints", samples.CheckpointSample, CHECKPOINT_FACT, "trigger_time"),
            _timed(told.annotations, "annotations", samples.Annotation, JOB_ANNOTATION, "at"),
            _timed(told.failures, "failures", samples.JobFailure, JOB_EXCEPTION, "ts"),
            _timed(events, "events", samples.LogEvent, LOG_EVENT, "ts"),
            _timed(told.uploads, "uploads", samples.UploadedFiles, CHECKPOINT_UPLOAD, "as_of"),
            _timed(told.pressure, "past", samples.VertexPast, PRESSURE_WINDOW, "window_start"),
        ]
    )


def _timed(frame: DataFrame, name: str, part: type, table: ServingTable, at: str) -> DataFrame:
    """(cluster, job_id, ``name``): struct of ``at`` in epoch ms and of ``row``, the fields of ``part`` in their order."""
    row = F.struct(*_columns(part, table)).alias("row")
    of_jobs = frame.where(F.col("job_id").isNotNull() & F.col(at).isNotNull())
    return of_jobs.select(*JOB, F.struct(F.unix_millis(at).alias("at"), row).alias(name))


_RENAMED = {(JOB_EXCEPTION, "name"): "exception_name", (JOB_EXCEPTION, "at_ms"): "ts", (LOG_EVENT, "at_ms"): "ts"}


def _columns(part: type, table: ServingTable) -> list[Column]:
    """A column for each field of a sample: of the same name, an instant without the suffix ``_ms``, or null where the table has none."""
    kinds = {column.name: column.kind for column in table.columns}
    columns = []
    for field in fields(part):
        name = _RENAMED.get((table, field.name), field.name)
        name = name if name in kinds else name.removesuffix("_ms")
        value = F.unix_millis(name) if kinds.get(name) == "instant" else F.col(name) if name in kinds else F.lit(None).cast("string")
        columns.append(value.alias(field.name))
    return columns


def _vertex_window() -> Column:
    """The fields of ``samples.VertexWindow`` in their order, after the start of the window."""
    arrays = {
        "busy_ratio": lambda reading: reading["busy_ms_per_s"] / FULL_MS_PER_S,
        "backpressured_ratio": lambda reading: F.coalesce(
            reading["backpressured_ms_per_s"] / FULL_MS_PER_S, reading["backpressured_ratio"]
        ),
        "idle_ratio": lambda reading: reading["idle_ms_per_s"] / FULL_MS_PER_S,
    }
    scalars = ("vertex_id", "parallelism", "samples")
    per_subtask = [field.name for field in fields(samples.VertexWindow) if field.name not in scalars]
    return F.struct(
        F.unix_millis("window_start").alias("window_start_ms"),
        *scalars,
        *(F.transform("readings", arrays.get(name) or _taken(name)).alias(name) for name in per_subtask),
    )


def _taken(name: str):  # type: ignore[no-untyped-def]  # a function of columns, as F.transform wants it
    return lambda reading: reading[name]


def _newest_first_cut(name: str) -> Column:
    """All of it in order of time, at most ``HISTORY_PER_RUN`` of the newest (past windows: all)."""
    ordered = F.sort_array(F.collect_list(name))
    if name == "past":
        return ordered.alias(name)
    return F.slice(ordered, F.greatest(F.lit(1), F.size(ordered) - HISTORY_PER_RUN + 1), HISTORY_PER_RUN).alias(name)


def _last(ordered: Column, since: Column, kept: int) -> Column:
    """Those from ``since`` on, and the last ``kept`` before."""
    wanted = F.size(F.filter(ordered, lambda one: one["at"] >= since)) + kept
    return F.slice(ordered, F.greatest(F.lit(1), F.size(ordered) - wanted + 1), wanted)


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _chunk(at_ms: Column) -> Column:
    return _floor(at_ms, CHUNK_MS)


def _floor(at_ms: Column, step_ms: int) -> Column:
    return (F.floor(at_ms / step_ms) * step_ms).cast("bigint")
