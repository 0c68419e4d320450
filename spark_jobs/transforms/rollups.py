"""Checkpoints of one job summed up over each hour and each UTC day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, LOG_EVENT, OUTCOMES, PHASES
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.instants import DAY_S, HOUR_S, floor_to
from spark_jobs.transforms.replays import newest_by

PERIOD_S = {"hour": HOUR_S, "day": DAY_S}
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
REFUSAL_KIND = "trigger_refused"

PERIOD = ("cluster", "job_id", "period", "period_start")


def rollups(facts: DataFrame, located_events: DataFrame) -> DataFrame:
    """All facts and log events of the touched periods → ``checkpoint_rollup`` rows.

    A checkpoint belongs to the period of its trigger. Events that name a checkpoint are in its fact
    already; only refusals that never got an id are counted from the log.
    """
    checkpoints = newest_by(facts, CHECKPOINT_FACT.key, ("final", "as_of"))
    summed = (
        _by_period(checkpoints, "trigger_time").groupBy(*PERIOD).agg(*_counts(), *_durations(), *_sizes(), F.max("as_of").alias("as_of"))
    )
    events = newest_by(located_events, LOG_EVENT.key, ("observed_at",))
    refused = (
        _by_period(events.filter(_is_refusal()), "ts")
        .groupBy(*PERIOD)
        .agg(F.count(F.lit(1)).alias("preflight_refusals"), F.max("observed_at").alias("refusals_as_of"))
    )
    both = summed.join(refused, on=list(PERIOD), how="full")
    counts = [*(f"{outcome}_count" for outcome in OUTCOMES), "savepoint_count"]
    told = both.fillna(0, subset=counts).withColumn("as_of", F.greatest("as_of", "refusals_as_of"))
    return serving_rows(told, CHECKPOINT_ROLLUP)


def _by_period(df: DataFrame, instant: str) -> DataFrame:
    """Each row once for every period that holds it."""
    periods = [F.struct(F.lit(name).alias("period"), floor_to(instant, length).alias("period_start")) for name, length in PERIOD_S.items()]
    return df.withColumn("held_by", F.explode(F.array(*periods))).select("*", "held_by.*")


def _is_refusal() -> Column:
    return (F.col("kind") == REFUSAL_KIND) & F.col("checkpoint_id").isNull() & F.col("job_id").isNotNull()


def _is_completed_checkpoint() -> Column:
    """Savepoints are left out of durations and sizes: they are of another format and on another schedule."""
    return (F.col("outcome") == "completed") & ~F.coalesce("is_savepoint", F.lit(False))


def _counts() -> list[Column]:
    counts = [F.count_if(F.col("outcome") == outcome).alias(f"{outcome}_count") for outcome in OUTCOMES]
    return [*counts, F.count_if("is_savepoint").alias("savepoint_count")]


def _durations() -> list[Column]:
    counted = _is_completed_checkpoint()
    end_to_end = [
        F.percentile(F.when(counted, F.col("end_to_end_ms")), p).alias(f"end_to_end_{name}_ms") for name, p in PERCENTILES.items()
    ]
    phases = [F.percentile(F.when(counted, F.col(f"{phase}_ms")), 0.95).alias(f"{phase}_p95_ms") for phase in PHASES]
    return [*end_to_end, *phases]


def _sizes() -> list[Column]:
    sized = _is_completed_checkpoint() & F.col("state_bytes").isNotNull()
    in_order = F.when(sized, F.struct("trigger_time", "checkpoint_id", "state_bytes"))
    # A release that reports one size only may mean the uploaded one; a slope of that would say nothing about the state.
    full_size = F.when(sized & F.col("checkpointed_bytes").isNotNull(), F.col("state_bytes"))
    # Rounded, because sums of floats depend on the order of rows in their last digits.
    hours = (F.unix_millis("trigger_time") - F.unix_millis("period_start")) / (HOUR_S * 1000)
    return [
        F.min(in_order).getField("state_bytes").alias("state_bytes_first"),
        F.max(in_order).getField("state_bytes").alias("state_bytes_last"),
        F.max(F.when(sized, F.col("state_bytes"))).alias("state_bytes_max"),
        F.round(F.regr_slope(full_size, hours), 1).alias("state_bytes_per_h"),
        # Of every outcome: what a failed checkpoint has sent went over the network too.
        F.try_sum("checkpointed_bytes").alias("checkpointed_bytes_sum"),
    ]
