"""Which checkpoint a log line is about: ids repeat where a job with a fixed id starts again, triggers do not.

Only few lines name the trigger time. Any other belongs to the nearest earlier trigger of its id and job.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT

NUMBER = ("cluster", "job_id", "checkpoint_id")
KEY = CHECKPOINT_FACT.key

CLOCK_SLACK_S = 10
"""Lines of one process are in order; those of another host may be this much ahead of the trigger."""

TRIGGERED = "checkpoint_triggered"


def triggers(checkpoints: DataFrame, vertex_checkpoints: DataFrame, events: DataFrame) -> DataFrame:
    """Every known trigger → (cluster, job_id, checkpoint_id, trigger_time, logged_at), once each.

    ``logged_at`` is when the log told of it, null where only REST did. It differs from the trigger time
    where the time zone declared for the log is wrong.
    """
    nowhere = F.lit(None).cast("timestamp").alias("logged_at")
    told = (
        checkpoints.select(*KEY, nowhere)
        .unionByName(vertex_checkpoints.select(*KEY, nowhere))
        .unionByName(events.where(F.col("kind") == TRIGGERED).select(*KEY, F.col("ts").alias("logged_at")))
    )
    known = told.where(F.col("job_id").isNotNull() & F.col("checkpoint_id").isNotNull() & F.col("trigger_time").isNotNull())
    return known.groupBy(*KEY).agg(F.min("logged_at").alias("logged_at"))


def anchored(events: DataFrame, known_triggers: DataFrame) -> DataFrame:
    """Events that name a job and a checkpoint id, with ``trigger_time`` filled and ``is_derived`` beside it.

    Where no trigger is known, as in a log that begins in mid-checkpoint, the time of the first mention less
    the duration it reports stands in, and ``is_derived`` is true.
    """
    mentions = events.where(F.col("job_id").isNotNull() & (F.col("checkpoint_id") > 0))
    position = F.coalesce("logged_at", "trigger_time").alias("position")
    known = known_triggers.groupBy(*NUMBER).agg(F.sort_array(F.collect_set(F.struct(position, "trigger_time"))).alias("known"))
    joined = mentions.join(known, on=list(NUMBER), how="left")
    slack = F.make_dt_interval(secs=F.lit(CLOCK_SLACK_S))
    earlier = F.filter(F.coalesce("known", F.array()), lambda anchor: anchor.position <= F.col("ts") + slack)
    nearest = F.coalesce("trigger_time", F.when(F.size(earlier) > 0, F.element_at(earlier, -1).getField("trigger_time")))
    placed = joined.withColumn("anchor", nearest).drop("known")
    first = F.min(F.when(F.col("anchor").isNull(), _likely_trigger())).over(Window.partitionBy(*NUMBER))
    return placed.withColumn("trigger_time", F.coalesce("anchor", first)).withColumn("is_derived", F.col("anchor").isNull()).drop("anchor")


def _likely_trigger() -> Column:
    return F.col("ts") - F.make_dt_interval(secs=F.coalesce("duration_ms", F.lit(0)) / 1000)
