"""What a run remembers for the next one, bounded per job.

Each function takes what was carried and what is new, in one frame, and returns what to carry on. They
may be applied again and again, in any order of arrival: the last ones by the job's own time are kept, so
a recording of last year is remembered as well as the fleet of today.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import EVENT_KINDS, UPLOADS
from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_UPLOAD, JOB_EXCEPTION, LOG_EVENT, PRESSURE_WINDOW
from spark_jobs.transforms.instants import DAY_S, HOUR_S, floor_to
from spark_jobs.transforms.replays import newest_by

JOB = ("cluster", "job_id")

FACTS_KEPT = 16
"""Whatever their age: what the fleet page shows of a job."""
WHOLE_DAYS_KEPT = 2
"""The newest fact's UTC day and the ones before it, complete: roll-ups of these days rest on them."""
THINNED_DAYS_KEPT = 7
"""Beyond the whole days, the last checkpoint of each hour: enough for a trend."""
EVENTS_KEPT = 500
JOB_SIGHTS_KEPT = 500
FAILURES_KEPT = 50
WINDOWS_KEPT = 10
"""Of each vertex: what a rule may compare the judged window with."""
TRIGGERS_KEPT = 2000
HOSTS_KEPT = 200

TRACE_CHARS = 4000
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


def job_events(events: DataFrame) -> DataFrame:
    """Located events → those that tell of a job's life, and the first and last line of each job."""
    of_jobs = newest_by(events.where(F.col("job_id").isNotNull()), LOG_EVENT.key, ("observed_at",))
    order = [F.col(name) for name in ("ts", "observed_at", "process", "record_hash", "ordinal")]
    told = F.col("kind").isin(*EVENT_KINDS) | ((F.col("kind") == "task_state") & (F.col("to_state") == "FAILED"))
    job = Window.partitionBy(*JOB)
    ranked = of_jobs.withColumns(
        {
            "told": told,
            "from_first": F.row_number().over(job.orderBy(*order)),
            "from_last": F.row_number().over(job.orderBy(*(column.desc() for column in order))),
            "from_last_told": F.row_number().over(Window.partitionBy(*JOB, told).orderBy(*(column.desc() for column in order))),
        }
    )
    kept = (F.col("from_first") == 1) | (F.col("from_last") == 1) | (F.col("told") & (F.col("from_last_told") <= EVENTS_KEPT))
    return ranked.where(kept).drop("told", "from_first", "from_last", "from_last_told")


def job_sights(jobs: DataFrame) -> DataFrame:
    """Lake rows of jobs → the first and the last sight of each spell in which nothing that matters changed."""
    told = (
        "state",
        "start_time",
        "end_time",
        "restarts",
        "restored_at",
        "state_since",
        "vertices",
        "configuration",
        "checkpoint_interval_ms",
    )
    once = newest_by(jobs.where(F.col("job_id").isNotNull()), (*JOB, "observed_at"), ("commit_seq",)).withColumn("spell", F.xxhash64(*told))
    spell = Window.partitionBy(*JOB, "spell")
    ranked = once.withColumns(
        {
            "from_first": F.row_number().over(spell.orderBy("observed_at")),
            "from_last": F.row_number().over(spell.orderBy(F.desc("observed_at"))),
        }
    ).where((F.col("from_first") == 1) | (F.col("from_last") == 1))
    counted = ranked.withColumn("rank", F.row_number().over(Window.partitionBy(*JOB).orderBy(F.desc("observed_at"))))
    return counted.where(F.col("rank") <= JOB_SIGHTS_KEPT).drop("spell", "from_first", "from_last", "rank")


def triggers(known: DataFrame) -> DataFrame:
    """Triggers (see ``checkpoint_triggers.triggers``) → the last ones of each job."""
    key = CHECKPOINT_FACT.key
    once = known.groupBy(*key).agg(F.min("logged_at").alias("logged_at"))
    ranked = once.withColumn("rank", F.row_number().over(Window.partitionBy(*JOB).orderBy(F.desc("trigger_time"), F.desc("checkpoint_id"))))
    return ranked.where(F.col("rank") <= TRIGGERS_KEPT).drop("rank")


def hosts(samples: DataFrame) -> DataFrame:
    """Samples of (cluster, job_id, vertex_id, ts, host, attempt) → when each placement of a vertex was first seen."""
    placed = samples.where(F.size("host") > 0)
    since = placed.groupBy(*JOB, "vertex_id", "host", "attempt").agg(F.min("ts").alias("ts"))
    ranked = since.withColumn("rank", F.row_number().over(Window.partitionBy(*JOB, "vertex_id").orderBy(F.desc("ts"), "host")))
    return ranked.where(F.col("rank") <= HOSTS_KEPT).select(*JOB, "vertex_id", "ts", "host", "attempt")


def last_pressure(windows: DataFrame) -> DataFrame:
    """Pressure windows → the newest ones of each vertex."""
    latest = newest_by(windows, PRESSURE_WINDOW.key, ("as_of",))
    newest_first = Window.partitionBy(*JOB, "vertex_id").orderBy(F.desc("window_start"))
    return latest.withColumn("rank", F.row_number().over(newest_first)).where(F.col("rank") <= WINDOWS_KEPT).drop("rank")


def uploads(known: DataFrame) -> DataFrame:
    """``checkpoint_upload`` rows → the newest of each job."""
    once = newest_by(known, CHECKPOINT_UPLOAD.key, ("as_of",))
    rank = F.row_number().over(Window.partitionBy(*JOB).orderBy(F.desc("as_of"), F.desc("trigger_time")))
    return once.withColumn("rank", rank).where(F.col("rank") <= UPLOADS).drop("rank")


def failures(exceptions: DataFrame) -> DataFrame:
    """``job_exception`` rows → the newest of each job, their stack traces cut."""
    once = newest_by(exceptions, JOB_EXCEPTION.key, ("is_root", "as_of"))
    rank = F.row_number().over(Window.partitionBy(*JOB).orderBy(F.desc("ts"), "task_key", "exception_name"))
    kept = once.withColumns({"rank": rank, "stacktrace": F.substring("stacktrace", 1, TRACE_CHARS)})
    return kept.where(F.col("rank") <= FAILURES_KEPT).drop("rank")


def _days_before(instant: str, days: int) -> Column:
    return F.col(instant) - F.make_dt_interval(days=F.lit(days))
