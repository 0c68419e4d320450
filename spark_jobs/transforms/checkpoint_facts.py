"""One row per checkpoint that REST or a log ever mentioned, from all that both say of it.

What is certain goes first: a completion wherever it is told, then the log's own lines of expiry and
decline, then the failure that REST reports, then the log's general failure line, then the end of the job.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT, PHASES
from spark_jobs.transforms import checkpoint_log as log
from spark_jobs.transforms import checkpoint_phases as phases
from spark_jobs.transforms.checkpoint_endings import endings, first_ending
from spark_jobs.transforms.checkpoint_reasons import outcome_of, reason_code
from spark_jobs.transforms.checkpoint_sights import checkpoint_sights, is_final
from spark_jobs.transforms.checkpoint_triggers import KEY, anchored, triggers
from spark_jobs.transforms.contract import serving_rows

DECLINED = "CHECKPOINT_DECLINED"


def checkpoint_facts(
    checkpoints: DataFrame, vertex_checkpoints: DataFrame, located_events: DataFrame, jobs: DataFrame, vertex_metrics_hosts: DataFrame
) -> DataFrame:
    """All lake rows and log events of some checkpoints → their ``checkpoint_fact`` rows.

    ``located_events`` also holds the lines that end jobs; ``jobs`` rows name the vertices, the time-out and
    the end; ``vertex_metrics_hosts`` has (cluster, job_id, vertex_id, ts, host), host an array by subtask.
    Any of the inputs may be empty, and may hold a row several times.
    """
    known_triggers = triggers(checkpoints, vertex_checkpoints, located_events)
    told = located_events.where(F.col("kind").isin(*log.TELLING))
    joined = (
        checkpoint_sights(checkpoints)
        .join(log.checkpoint_log(anchored(told, known_triggers)), on=list(KEY), how="full")
        .join(phases.checkpoint_phases(phases.vertex_parts(vertex_checkpoints, vertex_metrics_hosts)), on=list(KEY), how="full")
        .join(_described(jobs), on=["cluster", "job_id"], how="left")
        .join(endings(jobs, located_events), on=["cluster", "job_id"], how="left")
    )
    return serving_rows(_told_once(_with_outcome(joined)), CHECKPOINT_FACT)


def _described(jobs: DataFrame) -> DataFrame:
    """Per job: names of its vertices (a map, never null) and its time-out, from the newest sight that has them."""
    names = F.when(
        F.size("vertices") > 0,
        F.struct("observed_at", F.transform("vertices", lambda vertex: F.struct(vertex["vertex_id"], vertex["name"])).alias("entries")),
    )
    folded = jobs.groupBy("cluster", "job_id").agg(
        F.max(names).alias("named"),
        F.max_by("checkpoint_timeout_ms", F.when(F.col("checkpoint_timeout_ms").isNotNull(), F.col("observed_at"))).alias(
            "checkpoint_timeout_ms"
        ),
    )
    return folded.select("cluster", "job_id", F.map_from_entries("named.entries").alias("names"), "checkpoint_timeout_ms")


def _with_outcome(joined: DataFrame) -> DataFrame:
    completed = F.col("completed_at").isNotNull() | F.coalesce(F.col("rest_status") == "COMPLETED", F.lit(False))
    settled = completed | is_final(F.col("rest_status")) | F.coalesce("expired_at", "declined_at", "failed_at").isNotNull()
    judged = joined.withColumns(
        {
            "is_completed": completed,
            # "" is a failure whose reason is not known.
            "rest_reason": F.when(F.col("rest_status") == "FAILED", F.coalesce(reason_code(F.col("failure_message")), F.lit(""))),
            "ending": F.when(~settled, first_ending(F.col("logged_trigger"))),
        }
    )
    reason = (
        F.when(F.col("is_completed"), F.lit(None))
        .when(F.col("expired_at").isNotNull(), "CHECKPOINT_EXPIRED")
        .when(
            F.col("declined_at").isNotNull(),
            F.coalesce("declined_reason", F.nullif("rest_reason", F.lit("")), F.lit("CHECKPOINT_DECLINED")),
        )
        .when(F.col("rest_reason").isNotNull(), F.col("rest_reason"))
        .when(F.col("failed_at").isNotNull(), F.coalesce("failed_reason", F.lit("")))
    )
    outcome = (
        F.when(F.col("is_completed"), "completed")
        .when(F.col("expired_at").isNotNull(), "expired")
        .when(F.col("declined_at").isNotNull(), "declined")
        .otherwise(F.coalesce(outcome_of(F.col("reason")), F.when(F.col("ending").isNotNull(), "aborted"), F.lit("in_progress")))
    )
    text = (
        F.when(F.col("is_completed"), F.lit(None))
        .when(F.col("ending.ending") == "STOPPED", "The checkpoint coordinator was stopped before it completed.")
        .when(F.col("ending").isNotNull(), F.concat(F.lit("The job entered "), "ending.ending", F.lit(" before it completed.")))
        .otherwise(F.coalesce("failure_message", "declined_text", "failed_text"))
    )
    return judged.withColumn("reason", reason).withColumn("outcome", outcome).withColumn("reason_text", text)


def _told_once(df: DataFrame) -> DataFrame:
    outcome, names = F.col("outcome"), F.coalesce("names", F.create_map().cast("map<string,string>"))
    completed, lost = outcome == "completed", ~outcome.isin("completed", "in_progress")
    failed_at = F.coalesce("expired_at", "declined_at", "failure_time", "failed_at", "ending.ended_at")
    full, uploaded = F.coalesce("state_bytes", "completed_bytes"), F.col("checkpointed_bytes")
    end_to_end = F.coalesce("end_to_end_ms", "completed_ms")
    trace = F.when(lost, F.coalesce("declined_trace", "failed_trace"))
    missing = phases.not_acknowledged_json(names, F.col("subtasks"), F.col("acknowledged"))
    columns = {
        "final": outcome != "in_progress",
        "reason": F.nullif("reason", F.lit("")),
        "is_savepoint": F.coalesce("is_savepoint", "logged_is_savepoint"),
        "checkpoint_type": F.coalesce("checkpoint_type", "logged_type"),
        "end_time": F.when(completed, F.coalesce(_later(end_to_end), "completed_at")).when(lost, failed_at),
        "end_to_end_ms": end_to_end,
        "state_bytes": full,
        "uploaded_ratio": F.when(full > 0, uploaded / full),
        "dominant_phase": phases.dominant_phase(),
        "slowest_vertex_id": F.col("slowest.vertex_id"),
        "slowest_vertex_name": names[F.col("slowest.vertex_id")],
        "slowest_subtask": F.col("slowest.subtask"),
        "slowest_host": F.col("slowest.host"),
        "slowest_end_to_end_ms": F.col("slowest.end_to_end_ms"),
        **{f"slowest_{phase}_ms": F.col(f"slowest.{phase}_ms") for phase in PHASES},
        "late_subtask_share": phases.late_subtask_share(),
        "declines": log.declines_json(names),
        "not_acknowledged": F.when(lost, missing),
        "late_message_count": F.coalesce(F.size("late"), F.lit(0)),
        "late_messages": log.late_messages_json(names, F.coalesce("expired_at", "declined_at", "failure_time")),
        "exception": F.substring(trace, 1, log.EXCEPTION_CHARS),
        "sources": F.concat_ws("+", F.when(_by_rest(), "rest"), F.when(F.col("log_as_of").isNotNull(), "log")),
        "as_of": F.greatest("rest_as_of", "vertex_as_of", "log_as_of", "ending.as_of"),
    }
    return df.withColumns(columns)


def _later(milliseconds: Column) -> Column:
    return F.timestamp_millis(F.unix_millis("trigger_time") + milliseconds)


def _by_rest() -> Column:
    return F.coalesce("rest_as_of", "vertex_as_of").isNotNull()
