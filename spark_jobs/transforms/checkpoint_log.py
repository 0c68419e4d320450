"""What the JobManager's log said of a checkpoint, all its lines folded into one row."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import LOG_EVENT
from spark_jobs.transforms.checkpoint_reasons import reason_code
from spark_jobs.transforms.checkpoint_triggers import KEY, TRIGGERED
from spark_jobs.transforms.contract import json_text
from spark_jobs.transforms.replays import newest_by

COMPLETED = "checkpoint_completed"
DECLINED = "checkpoint_declined"
EXPIRED = "checkpoint_expired"
LATE = "late_message"
FAILED = ("checkpoint_failed", "trigger_failed", "checkpoint_discarded")
TELLING = (TRIGGERED, COMPLETED, DECLINED, EXPIRED, LATE, *FAILED)
"""Kinds that tell of one checkpoint by its id. Restores name ids too, but of what was restored."""

DECLINES_KEPT = 50
LATE_MESSAGES_KEPT = 50
EXCEPTION_CHARS = 16 * 1024

# What a task throws crosses to the JobManager wrapped, so that its class need not be known there.
_WRAPPER = r"^org\.apache\.flink\.util\.SerializedThrowable: "


def checkpoint_log(anchored_events: DataFrame) -> DataFrame:
    """One row per checkpoint that a log mentions; instants, sizes and reasons as its lines give them."""
    events = newest_by(anchored_events, LOG_EVENT.key, ("observed_at",)).withColumn("trace_reason", reason_code(F.col("detail")))
    kind = F.col("kind")
    failed = kind.isin(*FAILED)
    return events.groupBy(*KEY).agg(
        F.min(F.when(kind == TRIGGERED, F.col("ts"))).alias("logged_trigger"),
        _first(kind == TRIGGERED, "checkpoint_type").alias("logged_type"),
        F.bool_or(F.when(kind == TRIGGERED, F.col("is_savepoint"))).alias("logged_is_savepoint"),
        F.min(F.when(kind == COMPLETED, F.col("ts"))).alias("completed_at"),
        F.max(F.when(kind == COMPLETED, F.col("state_bytes"))).alias("completed_bytes"),
        F.max(F.when(kind == COMPLETED, F.col("duration_ms"))).alias("completed_ms"),
        F.min(F.when(kind == EXPIRED, F.col("ts"))).alias("expired_at"),
        F.min(F.when(failed, F.col("ts"))).alias("failed_at"),
        F.min_by(_reason(), F.when(failed & _reason().isNotNull(), _order())).alias("failed_reason"),
        _first(failed, "reason_text").alias("failed_text"),
        _first(failed, "detail").alias("failed_trace"),
        F.min(F.when(kind == DECLINED, F.col("ts"))).alias("declined_at"),
        F.min_by(_reason(), F.when((kind == DECLINED) & _reason().isNotNull(), _order())).alias("declined_reason"),
        _first(kind == DECLINED, "reason_text").alias("declined_text"),
        _first(kind == DECLINED, "detail").alias("declined_trace"),
        F.collect_list(F.when(kind == DECLINED, _decline())).alias("declines"),
        F.collect_list(F.when(kind == LATE, _late())).alias("late"),
        F.bool_and("is_derived").alias("is_derived"),
        F.max("observed_at").alias("log_as_of"),
    )


def declines_json(names: Column) -> Column:
    """Text of the ``declines`` column, vertices named by the map ``names``; null where nobody declined."""
    told = F.transform(
        F.slice(F.sort_array("declines"), 1, DECLINES_KEPT),
        lambda decline: F.struct(
            decline.vertex_id,
            F.coalesce(names[decline.vertex_id], decline.task).alias("vertex_name"),
            decline.subtask,
            decline.attempt,
            decline.execution_id,
            decline.container,
            decline.host,
            _iso(decline.at).alias("at"),
            decline.reason,
            decline.exception,
            decline.log_line,
        ),
    )
    return F.when(F.size("declines") > 0, json_text(told))


def late_messages_json(names: Column, expired_at: Column) -> Column:
    """Text of the ``late_messages`` column, each with how long after ``expired_at`` it came; null where none came."""
    told = F.transform(
        F.slice(F.sort_array("late"), 1, LATE_MESSAGES_KEPT),
        lambda late: F.struct(
            late.vertex_id,
            F.coalesce(names[late.vertex_id], late.task).alias("vertex_name"),
            late.subtask,
            late.container,
            late.host,
            _iso(late.at).alias("at"),
            (F.unix_millis(late.at) - F.unix_millis(expired_at)).alias("late_ms"),
        ),
    )
    return F.when(F.size("late") > 0, json_text(told))


def root_cause(trace: Column) -> Column:
    """The innermost cause of a stack trace, its first line; null where there is no trace."""
    innermost = F.regexp_extract(trace, r"(?s)^.*\nCaused by: ([^\n]*)", 1)
    line = F.coalesce(F.nullif(innermost, F.lit("")), F.nullif(F.substring_index(trace, "\n", 1), F.lit("")))
    return F.regexp_replace(line, _WRAPPER, "")


def _first(condition: Column, name: str) -> Column:
    return F.min_by(name, F.when(condition & F.col(name).isNotNull(), _order()))


def _order() -> Column:
    return F.struct("ts", "process", "record_hash", "ordinal")


def _reason() -> Column:
    return F.coalesce("reason", "trace_reason")


def _decline() -> Column:
    return F.struct(
        F.col("ts").alias("at"), "execution_id", "vertex_id", "task", "subtask", "attempt", "container", "host",
        _reason().alias("reason"), root_cause(F.col("detail")).alias("exception"),
        F.substring_index("message", "\n", 1).alias("log_line"),
    )  # fmt: skip


def _late() -> Column:
    return F.struct(F.col("ts").alias("at"), "vertex_id", "task", "subtask", "container", "host")


def _iso(instant: Column) -> Column:
    return F.date_format(instant, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")
