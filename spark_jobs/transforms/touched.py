"""Which keys the new rows of a run touch, so that just their facts are recomputed, from all rows of those keys."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES
from spark_jobs.fold.checkpoint_log import TELLING
from spark_jobs.transforms.carried import JOB, whole_since
from spark_jobs.transforms.checkpoint_triggers import KEY, anchored
from spark_jobs.transforms.instants import DAY_S, HOUR_S, floor_to

PERIOD = (*JOB, "period_start")


def checkpoints(new_checkpoints: DataFrame, new_vertices: DataFrame, new_events: DataFrame, known_triggers: DataFrame) -> DataFrame:
    """Keys of the checkpoints that new rows tell of; a line without a trigger time finds its own among ``known_triggers``."""
    told = anchored(new_events.where(F.col("kind").isin(*TELLING)), known_triggers)
    every = (new_checkpoints.select(*KEY), new_vertices.select(*KEY), told.select(*KEY))
    return reduce(DataFrame.unionByName, every).where(F.col("job_id").isNotNull()).distinct()


def pending(facts: DataFrame, new_jobs: DataFrame, new_events: DataFrame) -> DataFrame:
    """Keys of carried facts that are not final, of jobs of which something new is told: they may have ended."""
    told = new_events.where(F.col("job_id").isNotNull() & F.col("kind").isin("coordinator_stopped", "job_state", "job_terminal"))
    ended = new_jobs.where(F.col("state").isin(*TERMINAL_STATES)).select(*JOB).unionByName(told.select(*JOB)).distinct()
    return facts.where(~F.col("final")).join(ended, on=list(JOB), how="left_semi").select(*KEY)


def lines_without_place(events: DataFrame, known_triggers: DataFrame) -> DataFrame:
    """(cluster, execution_id, key) of located events about a checkpoint whose task or host is still not known."""
    lacking = (F.col("kind").isin(*TELLING)) & F.col("execution_id").isNotNull() & (F.col("task").isNull() | F.col("host").isNull())
    return anchored(events.where(lacking), known_triggers).select("cluster", "execution_id", *KEY[1:]).distinct()


def unlocated(lines: DataFrame, executions: DataFrame) -> DataFrame:
    """Keys of the checkpoints that carried ``lines`` are about, where their execution is known by now."""
    return lines.join(placed(executions), on=["cluster", "execution_id"], how="left_semi").select(*KEY)


def placed(executions: DataFrame) -> DataFrame:
    """(cluster, execution_id) of executions of which task and host are known."""
    return executions.where(F.col("task").isNotNull() & F.col("host").isNotNull()).select("cluster", "execution_id")


def days_not_carried(keys: DataFrame, carried_facts: DataFrame) -> DataFrame:
    """(cluster, job_id, day): touched days of a job of which earlier runs knew facts that are not carried any more."""
    since = carried_facts.groupBy(*JOB).agg(whole_since(F.max("trigger_time")).alias("whole_since"))
    touched_days = keys.select(*JOB, floor_to("trigger_time", DAY_S).alias("day")).distinct()
    return touched_days.join(since, on=list(JOB), how="inner").where(F.col("day") < F.col("whole_since")).drop("whole_since")


def hours(facts: DataFrame, refusals: DataFrame) -> DataFrame:
    """(cluster, job_id, hour) that checkpoints or refusals touch."""
    of_facts = facts.select(*JOB, floor_to("trigger_time", HOUR_S).alias("hour"))
    of_refusals = refusals.where(F.col("job_id").isNotNull()).select(*JOB, floor_to("ts", HOUR_S).alias("hour"))
    return of_facts.unionByName(of_refusals).distinct()


def periods(touched_hours: DataFrame) -> DataFrame:
    """The roll-up periods that hold these hours: (cluster, job_id, period, period_start)."""
    of_hours = touched_hours.select(*JOB, F.lit("hour").alias("period"), F.col("hour").alias("period_start"))
    of_days = touched_hours.select(*JOB, F.lit("day").alias("period"), floor_to("hour", DAY_S).alias("period_start"))
    return of_hours.unionByName(of_days).distinct()
