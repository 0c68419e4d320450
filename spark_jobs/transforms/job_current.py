"""One row for each job: as last seen, with what the fleet page shows of it."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES
from spark_jobs.serving import CHECKPOINT_FACT, FAILED_OUTCOMES, JOB_CURRENT, LOG_EVENT, PHASES, PRESSURE_WINDOW
from spark_jobs.transforms.contract import json_text, serving_rows
from spark_jobs.transforms.job_sights import JOB, job_sights
from spark_jobs.transforms.replays import newest_by

RECENT = 16
"""Checkpoints that the fleet page shows of a job; the recent figures rest on them."""

# Flink notes a restore in its log and for REST some milliseconds apart; REST then tells more exactly what it was.
RESTORE_TOLERANCE_MS = 1000


def job_current(jobs: DataFrame, facts: DataFrame, pressure: DataFrame, located_events: DataFrame) -> DataFrame:
    """Everything known of the touched jobs → ``job_current`` rows.

    A job that only a log or a checkpoint tells of has a row too. What the newest sight does not tell is
    taken from the newest one that did.
    """
    checkpoints = newest_by(facts.filter(F.col("job_id").isNotNull()), CHECKPOINT_FACT.key, ("final", "as_of"))
    parts = (
        job_sights(jobs),
        _from_log(newest_by(located_events.filter(F.col("job_id").isNotNull()), LOG_EVENT.key, ("observed_at",))),
        _checkpointed(checkpoints),
        _recent(checkpoints),
        _pressured(newest_by(pressure, PRESSURE_WINDOW.key, ("as_of",))),
    )
    whole = reduce(lambda left, right: left.join(right, on=list(JOB), how="full"), parts)
    return serving_rows(whole.withColumns(_chosen()), JOB_CURRENT)


def _chosen() -> dict[str, Column]:
    """What two sources may tell of: for the state the later one, and REST in a tie, since it was asked for it."""
    rest = F.struct(F.col("rest_state_at").alias("at"), F.lit(1).alias("rank"), F.col("rest_state").alias("state"))
    log = F.struct(F.col("log_state_at").alias("at"), F.lit(0).alias("rank"), F.col("log_state").alias("state"))
    state = F.greatest(F.when(F.col("rest_state").isNotNull(), rest), F.when(F.col("log_state").isNotNull(), log)).getField("state")
    log_end = F.when(state.isin(*TERMINAL_STATES) & (F.col("log_state") == state), F.col("log_state_at"))
    later_ms = F.unix_millis("log_restored_at") - F.unix_millis("rest_restored_at")
    log_restored = F.col("rest_restored_at").isNull() | F.coalesce(later_ms > RESTORE_TOLERANCE_MS, F.lit(False))
    chosen = {
        "name": F.coalesce("rest_name", "log_name"),
        "state": state,
        "terminal": state.isin(*TERMINAL_STATES),
        "start_time": F.coalesce("rest_start_time", "log_start_time"),
        "end_time": F.coalesce("rest_end_time", log_end),
        "restarts": F.coalesce("rest_restarts", "log_restarts"),
        "first_seen_at": F.least("rest_first_seen_at", "log_first_seen_at", "checkpoints_first_at"),
        "last_seen_at": F.greatest("rest_last_seen_at", "log_last_seen_at", "checkpoints_as_of", "pressure_as_of"),
        "as_of": F.greatest("rest_last_seen_at", "log_observed_at", "checkpoints_as_of", "pressure_as_of"),
    }
    restored = ("restored_checkpoint_id", "restored_at", "restored_is_savepoint", "restored_path")
    return chosen | {name: F.when(log_restored, F.col(f"log_{name}")).otherwise(F.col(f"rest_{name}")) for name in restored}


def _from_log(events: DataFrame) -> DataFrame:
    # A wrongly declared time zone may date a line after the moment it was read: it must not stay the newest for ever.
    at = F.least("ts", "observed_at")
    is_state = F.col("kind").isin("job_state", "job_terminal")
    restored = F.struct(at.alias("at"), "checkpoint_id", (F.col("checkpoint_type") == "Savepoint").alias("is_savepoint"), "path")
    told = events.groupBy(*JOB).agg(
        F.max(F.when(F.col("job_name").isNotNull(), F.struct(at.alias("at"), "job_name"))).alias("named"),
        F.max(F.when(is_state & F.col("to_state").isNotNull(), F.struct(at.alias("at"), "offset", "to_state"))).alias("state"),
        F.max(F.when(F.col("kind") == "job_submitted", at)).alias("submitted_at"),
        F.count_if((F.col("kind") == "job_state") & (F.col("to_state") == "RESTARTING")).alias("restarts"),
        F.max(F.when(F.col("kind") == "restored", restored)).alias("restored"),
        F.min(at).alias("first_at"),
        F.max(at).alias("last_at"),
        F.max("observed_at").alias("observed_at"),
    )
    return told.select(
        *JOB,
        F.col("named.job_name").alias("log_name"),
        F.col("state.to_state").alias("log_state"),
        F.col("state.at").alias("log_state_at"),
        F.col("submitted_at").alias("log_start_time"),
        F.col("restarts").alias("log_restarts"),
        F.col("restored.checkpoint_id").alias("log_restored_checkpoint_id"),
        F.col("restored.at").alias("log_restored_at"),
        F.col("restored.is_savepoint").alias("log_restored_is_savepoint"),
        F.col("restored.path").alias("log_restored_path"),
        F.col("first_at").alias("log_first_seen_at"),
        F.col("last_at").alias("log_last_seen_at"),
        F.col("observed_at").alias("log_observed_at"),
    )


def _checkpointed(checkpoints: DataFrame) -> DataFrame:
    """The newest completed checkpoint, savepoints left out, over all facts at hand."""
    completed = F.when(
        (F.col("outcome") == "completed") & _is_checkpoint(),
        F.struct("trigger_time", "checkpoint_id", "end_time", "end_to_end_ms", "state_bytes", "checkpointed_bytes"),
    )
    told = checkpoints.groupBy(*JOB).agg(
        F.max(completed).alias("last"), F.min("trigger_time").alias("checkpoints_first_at"), F.max("as_of").alias("checkpoints_as_of")
    )
    return told.select(
        *JOB,
        F.col("last.checkpoint_id").alias("last_completed_id"),
        F.coalesce("last.end_time", "last.trigger_time").alias("last_completed_at"),
        F.col("last.end_to_end_ms").alias("last_completed_ms"),
        F.col("last.state_bytes").alias("state_bytes"),
        F.col("last.checkpointed_bytes").alias("checkpointed_bytes"),
        "checkpoints_first_at",
        "checkpoints_as_of",
    )


def _recent(checkpoints: DataFrame) -> DataFrame:
    """Figures of the newest ``RECENT`` final checkpoints of each job."""
    newest_first = Window.partitionBy(*JOB).orderBy(F.desc("trigger_time"), F.desc("checkpoint_id"))
    recent = checkpoints.filter("final").withColumn("number", F.row_number().over(newest_first)).filter(F.col("number") <= RECENT)
    counted = _is_checkpoint()
    completed = counted & (F.col("outcome") == "completed")
    phase_ms = [F.try_sum(F.when(completed, F.col(f"slowest_{phase}_ms"))).alias(phase) for phase in PHASES]
    figures = recent.groupBy(*JOB).agg(
        F.array_sort(F.collect_list(F.struct(-F.col("number"), "checkpoint_id", "outcome", "is_savepoint"))).alias("outcomes"),
        F.count_if(counted).alias("recent_total"),
        F.count_if(counted & F.col("outcome").isin(*FAILED_OUTCOMES)).alias("recent_failed"),
        F.percentile(F.when(completed, F.col("end_to_end_ms")), 0.95).alias("end_to_end_p95_ms"),
        F.try_sum(F.when(completed, F.col("slowest_end_to_end_ms"))).alias("slowest_ms"),
        *phase_ms,
    )
    shown = F.transform("outcomes", lambda one: F.struct(one["checkpoint_id"], one["outcome"], one["is_savepoint"]))
    # The earlier phase wins a tie, as the barrier passes them in this order.
    phases = [
        F.struct(F.col(phase).alias("ms"), F.lit(-place).alias("place"), F.lit(phase).alias("phase")) for place, phase in enumerate(PHASES)
    ]
    dominant = F.greatest(*(F.when(phase.getField("ms") > 0, phase) for phase in phases))
    return figures.select(
        *JOB,
        json_text(shown).alias("recent_outcomes"),
        F.get("outcomes", F.size("outcomes") - 1).getField("outcome").alias("last_outcome"),
        "recent_total",
        "recent_failed",
        "end_to_end_p95_ms",
        dominant.getField("phase").alias("dominant_phase"),
        F.try_divide(dominant.getField("ms"), "slowest_ms").alias("dominant_phase_share"),
    )


def _is_checkpoint() -> Column:
    return ~F.coalesce("is_savepoint", F.lit(False))


def _pressured(windows: DataFrame) -> DataFrame:
    newest = newest_by(windows, (*JOB, "vertex_id"), ("window_start", "as_of"))
    return newest.groupBy(*JOB).agg(F.max("backpressured_share").alias("pressured_share"), F.max("as_of").alias("pressure_as_of"))
