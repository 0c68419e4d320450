"""What the JobManager's REST answers tell of a job's life: submission, restarts, restores, rescaling, end."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES
from spark_jobs.transforms.contract import json_text
from spark_jobs.transforms.job_sights import JOB
from spark_jobs.transforms.replays import newest_by
from spark_jobs.transforms.snapshots import restore_detail, restore_label, restore_subject

COUNTER_LAG_MS = 60_000
"""The counter is a metric, fetched every ten seconds and asked for in another request: it may rise well after the state changed."""


def rest_sights(jobs: DataFrame) -> DataFrame:
    """Lake rows of ``jobs`` → sights, all with ``by_log`` false.

    Columns: cluster, job_id, kind, subject, seen_at, by_log, vague (true where another sight of the same may
    know more), label, detail (JSON), as_of.
    """
    seen = newest_by(jobs.filter(F.col("job_id").isNotNull()), (*JOB, "observed_at"), ("commit_seq",))
    parts = (_deployed(seen), *_from_states(seen), _uncounted_restarts(seen), _restored(seen), _rescaled(seen))
    return reduce(lambda left, right: left.unionByName(right), parts)


def _deployed(seen: DataFrame) -> DataFrame:
    started = seen.filter(F.col("start_time").isNotNull())
    return started.select(*_sight("deploy", F.lit(""), F.col("start_time"), F.lit("submitted"), F.struct("flink_version", "parallelism")))


def _from_states(seen: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Every state is reported with the time of its last entry; over many sights, most entries are seen."""
    entered = seen.select(*JOB, "observed_at", F.explode("state_since").alias("entry"), "state_since").select(
        *JOB, "observed_at", "entry.state", "entry.since", _entry("RUNNING").alias("running_since")
    )
    runs_again = F.when(F.col("running_since") > F.col("since"), F.col("running_since"))
    downtime = F.struct(runs_again.alias("running_at"), (F.unix_millis(runs_again) - F.unix_millis("since")).alias("downtime_ms"))
    restarts = entered.filter("state = 'RESTARTING'").select(
        *_sight("restart", F.lit(""), F.col("since"), F.lit("restart"), F.when(runs_again.isNotNull(), downtime))
    )
    ends = entered.filter(F.col("state").isin(*TERMINAL_STATES)).select(
        *_sight("terminal", F.col("state"), F.col("since"), F.lower("state"), F.lit(None).cast("struct<state:string>"))
    )
    return restarts, ends


def _entry(state: str) -> Column:
    return F.get(F.filter("state_since", lambda entry: entry["state"] == state), 0).getField("since")


def _uncounted_restarts(seen: DataFrame) -> DataFrame:
    """Restarts that the counter tells of and no state does: regions that restart while the job keeps RUNNING (up to 1.10)."""
    counted = seen.filter(F.col("restarts").isNotNull())
    in_order = Window.partitionBy(*JOB).orderBy("observed_at")
    before = F.lag(F.struct("observed_at", "restarts")).over(in_order)
    compared = counted.withColumn("before", before).filter(F.col("restarts") > F.col("before.restarts"))
    since_ms = F.unix_millis(_entry("RESTARTING")) - F.unix_millis("before.observed_at")
    unseen = compared.filter(~F.coalesce(since_ms > -COUNTER_LAG_MS, F.lit(False)))
    more = F.col("restarts") - F.col("before.restarts")
    return unseen.select(*_sight("restart", F.lit(""), F.col("observed_at"), F.lit("restart"), F.struct(more.alias("count"))))


def _restored(seen: DataFrame) -> DataFrame:
    told = seen.filter(F.col("restored_at").isNotNull()).withColumn(
        "what", F.when(F.col("restored_is_savepoint"), F.lit("savepoint")).otherwise(F.lit("checkpoint"))
    )
    snapshot = (F.col("what"), F.col("restored_checkpoint_id"), F.col("restored_path"))
    return told.select(
        *_sight("restore", restore_subject(snapshot[1]), F.col("restored_at"), restore_label(*snapshot[:2]), restore_detail(*snapshot))
    )


def _rescaled(seen: DataFrame) -> DataFrame:
    vertices = seen.select(*JOB, "observed_at", F.explode("vertices").alias("vertex")).select(*JOB, "observed_at", "vertex.*")
    in_order = Window.partitionBy(*JOB, "vertex_id").orderBy("observed_at")
    known = vertices.filter(F.col("parallelism").isNotNull()).withColumn("before", F.lag("parallelism").over(in_order))
    changed = known.filter(F.col("parallelism") != F.col("before"))
    label = F.format_string("%s: %d → %d", F.coalesce("name", "vertex_id"), "before", "parallelism")
    detail = F.struct(F.col("name").alias("vertex_name"), F.col("before").alias("from"), F.col("parallelism").alias("to"))
    return changed.select(*_sight("rescale", F.col("vertex_id"), F.col("observed_at"), label, detail))


def _sight(kind: str, subject: Column, seen_at: Column, label: Column, detail: Column) -> list[Column]:
    return [
        *(F.col(name) for name in JOB),
        F.lit(kind).alias("kind"),
        subject.alias("subject"),
        seen_at.alias("seen_at"),
        F.lit(False).alias("by_log"),
        detail.isNull().alias("vague"),
        label.alias("label"),
        json_text(detail).alias("detail"),
        F.col("observed_at").alias("as_of"),
    ]
