"""Checkpoints of one job summed up over each hour and each UTC day."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from spark_jobs.schemas import serving_columns
from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, OUTCOMES, PHASES, SLOPE_SPAN_H
from spark_jobs.transforms.time_spans import DAY_S, HOUR_S, floor_to

PERIOD_S = {"hour": HOUR_S, "day": DAY_S}
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

PERIOD = ("cluster", "job_id", "period", "period_start")
_KEY = CHECKPOINT_FACTS.identity
_FACT = CHECKPOINT_FACT.key
_FIGURES = tuple(column.name for column in CHECKPOINT_FACTS.columns if column.name not in (*_KEY, "retracted"))


def summed(reported: DataFrame, periods: DataFrame) -> DataFrame:
    """Checkpoints and refusals as :func:`newest` has them, all of the touched days → ``checkpoint_rollup`` rows of ``periods``.

    A checkpoint belongs to the period of its trigger.
    """
    held = by_period(reported).join(periods, on=list(PERIOD), how="left_semi")
    refusals = F.count_if(F.col("outcome") == REFUSED)
    every = (
        *_counts(),
        F.when(refusals > 0, refusals).alias("preflight_refusals"),
        *_durations(),
        *_sizes(),
        F.max("as_of").alias("as_of"),
    )
    return serving_columns(held.groupBy(*PERIOD).agg(*every).where(F.col("as_of").isNotNull()), CHECKPOINT_ROLLUP)


def newest(kept: DataFrame) -> DataFrame:
    """Rows of the lake's ``checkpoint_facts`` → each key once, as the database holds it.

    What was recorded before a key was taken back is void, whatever it was: so commits decide about that, as they follow the chain of runs.
    Of the rest, as for the loader, a settled one counts before an open one, then the newest. A key that stays taken back has no
    figures; its ``as_of`` is that of what was taken back, so that the roll-up without it replaces the one with it.
    """
    back = kept.where("retracted").groupBy(*_FACT).agg(F.max("commit_seq").alias("back_seq"))
    is_void = F.coalesce(F.col("commit_seq") < F.col("back_seq"), F.lit(False))
    order = F.struct(~is_void, ~F.col("retracted"), "final", "observed_at", "commit_seq", F.struct(*_FIGURES).alias("figures"))
    rows = kept.join(back, on=list(_FACT), how="left").groupBy(*_KEY).agg(F.max(order).alias("newest"), F.max("observed_at").alias("as_of"))
    return rows.select(*_KEY, "as_of", "newest.figures.*")


def by_period(rows: DataFrame) -> DataFrame:
    """Each row once for every period that holds its trigger."""
    periods = [
        F.struct(F.lit(name).alias("period"), floor_to("trigger_time", length).alias("period_start")) for name, length in PERIOD_S.items()
    ]
    return rows.withColumn("held_by", F.explode(F.array(*periods))).select("*", "held_by.*")


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
    sized_at = F.when(full_size.isNotNull(), hours)
    return [
        F.min(in_order).getField("state_bytes").alias("state_bytes_first"),
        F.max(in_order).getField("state_bytes").alias("state_bytes_last"),
        F.max(F.when(sized, F.col("state_bytes"))).alias("state_bytes_max"),
        F.when(F.max(sized_at) - F.min(sized_at) >= SLOPE_SPAN_H, F.round(F.regr_slope(full_size, hours), 1)).alias("state_bytes_per_h"),
        # Of every outcome: what a failed checkpoint has sent went over the network too.
        F.try_sum("checkpointed_bytes").alias("checkpointed_bytes_sum"),
    ]
