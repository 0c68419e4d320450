"""What a run remembers for the next one, bounded per job.

Each function takes what was carried and what is new, in one frame, and returns what to carry on. They
may be applied again and again, in any order of arrival: the last ones by the job's own time are kept, so
a recording of last year is remembered as well as the fleet of today.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT, LOG_EVENT
from spark_jobs.transforms.instants import DAY_S, HOUR_S, floor_to
from spark_jobs.transforms.replays import newest_by

JOB = ("cluster", "job_id")

FACTS_KEPT = 16
"""Whatever their age: what the fleet page shows of a job."""
WHOLE_DAYS_KEPT = 2
"""The newest fact's UTC day and the ones before it, complete: roll-ups of these days rest on them."""
THINNED_DAYS_KEPT = 7
"""Beyond the whole days, the last checkpoint of each hour: enough for a trend."""
REFUSALS_KEPT = 500
TRIGGERS_KEPT = 2000

# Texts that only a fact's own page and the rules about the newest failures need; roll-ups and trends do without.
_BULKY = ("declines", "not_acknowledged", "late_messages", "failure_message")


def recent_facts(facts: DataFrame) -> DataFrame:
    """Facts, each once → those to carry, the newest of each job with their texts."""
    job, order = Window.partitionBy(*JOB), (F.desc("trigger_time"), F.desc("checkpoint_id"))
    ranked = facts.withColumns(
        {
            "newest": F.max("trigger_time").over(job),
            "rank": F.row_number().over(job.orderBy(*order)),
            "rank_in_hour": F.row_number().over(Window.partitionBy(*JOB, floor_to("trigger_time", HOUR_S)).orderBy(*order)),
        }
    )
    is_pending = ~F.col("final")
    thinned = (F.col("trigger_time") >= _days_before("newest", THINNED_DAYS_KEPT)) & ((F.col("rank_in_hour") == 1) | F.col("is_savepoint"))
    kept = (F.col("rank") <= FACTS_KEPT) | (F.col("trigger_time") >= whole_since(F.col("newest"))) | is_pending | thinned
    told = F.col("rank") <= FACTS_KEPT
    texts = {name: F.when(told, F.col(name)) for name in _BULKY} | {"exception": F.lit(None).cast("string")}
    return ranked.where(kept).withColumns(texts).drop("newest", "rank", "rank_in_hour")


def whole_since(newest: Column) -> Column:
    """From here on all facts of a job are carried, given the trigger time of its newest."""
    return floor_to(newest, DAY_S) - F.make_dt_interval(days=F.lit(WHOLE_DAYS_KEPT - 1))


def refusals(lines: DataFrame) -> DataFrame:
    """Located lines that name no checkpoint → the last ones of each job."""
    once = newest_by(lines.where(F.col("job_id").isNotNull()), LOG_EVENT.key, ("observed_at",))
    order = [F.desc(name) for name in ("ts", "observed_at", "process", "record_hash", "ordinal")]
    ranked = once.withColumn("rank", F.row_number().over(Window.partitionBy(*JOB).orderBy(*order)))
    return ranked.where(F.col("rank") <= REFUSALS_KEPT).drop("rank")


def triggers(known: DataFrame) -> DataFrame:
    """Triggers (see ``checkpoint_triggers.triggers``) → the last ones of each job."""
    key = CHECKPOINT_FACT.key
    once = known.groupBy(*key).agg(F.min("logged_at").alias("logged_at"))
    ranked = once.withColumn("rank", F.row_number().over(Window.partitionBy(*JOB).orderBy(F.desc("trigger_time"), F.desc("checkpoint_id"))))
    return ranked.where(F.col("rank") <= TRIGGERS_KEPT).drop("rank")


def _days_before(instant: str, days: int) -> Column:
    return F.col(instant) - F.make_dt_interval(days=F.lit(days))
