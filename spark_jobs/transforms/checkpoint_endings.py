"""When a job's life ended under its checkpoints: what turns one without an answer into an aborted one."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.transforms.checkpoint_triggers import KEY

COORDINATOR_STOPPED = "coordinator_stopped"
STATE_CHANGED = ("job_state", "job_terminal")
TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")
# Entering one of these, the JobManager suspends the coordinator, which drops every pending checkpoint.
ENDING_STATES = ("FAILING", "RESTARTING", "CANCELLING", "SUSPENDED", *TERMINAL_STATES)

DEFAULT_TIMEOUT_MS = 10 * 60 * 1000
"""Flink's own default of ``execution.checkpointing.timeout``."""


def endings(jobs: DataFrame, events: DataFrame) -> DataFrame:
    """(cluster, job_id, ended_at, ending): each time a job is known to have dropped its pending checkpoints."""
    kind, state = F.col("kind"), F.upper("to_state")
    logged = events.where(
        F.col("job_id").isNotNull() & ((kind == COORDINATOR_STOPPED) | (kind.isin(*STATE_CHANGED) & state.isin(*ENDING_STATES)))
    ).select(
        "cluster", "job_id", F.col("ts").alias("ended_at"), F.coalesce(state, F.lit("a stopped coordinator")).alias("ending"), "observed_at"
    )
    reported = jobs.where(F.col("state").isin(*TERMINAL_STATES) & F.col("end_time").isNotNull()).select(
        "cluster", "job_id", F.col("end_time").alias("ended_at"), F.col("state").alias("ending"), "observed_at"
    )
    every = logged.unionByName(reported)
    return every.groupBy("cluster", "job_id", "ended_at").agg(F.max("ending").alias("ending"), F.min("observed_at").alias("ending_as_of"))


def first_ending_after(pending: DataFrame, known_endings: DataFrame) -> DataFrame:
    """Per checkpoint of ``pending`` that its job outlived not: (key, ended_at, ending, ending_as_of) of the first ending after it.

    Where only REST told of the trigger, the ending must come within the time-out: later, the answer that
    nobody saw may have been any.
    """
    in_time = F.unix_millis("ended_at") - F.unix_millis("trigger_time") <= F.coalesce("checkpoint_timeout_ms", F.lit(DEFAULT_TIMEOUT_MS))
    after = (F.col("ended_at") >= F.col("trigger_time")) & (F.col("logged_trigger").isNotNull() | in_time)
    first: Column = F.min(F.struct("ended_at", "ending", "ending_as_of"))
    return (
        pending.select(*KEY, "logged_trigger", "checkpoint_timeout_ms")
        .join(known_endings, on=["cluster", "job_id"], how="inner")
        .where(after)
        .groupBy(*KEY)
        .agg(first.alias("first"))
        .select(*KEY, "first.*")
    )
