"""When a job's life ended under its checkpoints: what turns one without an answer into an aborted one."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES

COORDINATOR_STOPPED = "coordinator_stopped"
STATE_CHANGED = ("job_state", "job_terminal")
# Entering one of these, the JobManager suspends the coordinator, which drops every pending checkpoint.
ENDING_STATES = ("FAILING", "RESTARTING", "CANCELLING", "SUSPENDED", *TERMINAL_STATES)

DEFAULT_TIMEOUT_MS = 10 * 60 * 1000
"""Flink's own default of ``execution.checkpointing.timeout``."""


def endings(jobs: DataFrame, events: DataFrame) -> DataFrame:
    """(cluster, job_id, endings): each time a job is known to have dropped its pending checkpoints.

    ``endings`` is an array of (ended_at, ending, as_of), in the order of time.
    """
    kind, state = F.col("kind"), F.upper("to_state")
    told = (kind == COORDINATOR_STOPPED) | (kind.isin(*STATE_CHANGED) & state.isin(*ENDING_STATES))
    logged = events.where(F.col("job_id").isNotNull() & told).select(
        "cluster", "job_id", _told(F.col("ts"), F.coalesce(state, F.lit("STOPPED")))
    )
    reported = jobs.where(F.col("state").isin(*TERMINAL_STATES) & F.col("end_time").isNotNull()).select(
        "cluster", "job_id", _told(F.col("end_time"), F.col("state"))
    )
    every = logged.unionByName(reported)
    return every.groupBy("cluster", "job_id").agg(F.sort_array(F.collect_set("told")).alias("endings"))


def first_ending(logged_trigger: Column) -> Column:
    """Of ``endings``, the first after ``trigger_time``; null where the job outlived the checkpoint, as far as known.

    Where only REST told of the trigger, the ending must come within the time-out: later, the answer that
    nobody saw may have been any.
    """
    timeout_ms = F.coalesce("checkpoint_timeout_ms", F.lit(DEFAULT_TIMEOUT_MS))

    def is_after(ending: Column) -> Column:
        in_time = F.unix_millis(ending["ended_at"]) - F.unix_millis("trigger_time") <= timeout_ms
        return (ending["ended_at"] >= F.col("trigger_time")) & (logged_trigger.isNotNull() | in_time)

    return F.get(F.filter("endings", is_after), 0)


def _told(ended_at: Column, ending: Column) -> Column:
    return F.struct(ended_at.alias("ended_at"), ending.alias("ending"), F.col("observed_at").alias("as_of")).alias("told")
