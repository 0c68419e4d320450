"""Whose a directory is, and what is known of that job: small frames, bounded by jobs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import with_places

MOST_ENDED = 1000
"""Checkpoints of a job that tell why a file was left; older ones say nothing of what is still there."""


def restores(jobs: DataFrame) -> DataFrame:
    """Jobs that were restored from somewhere: the job whose directory that was, or the first digits a savepoint has of it."""
    restored = jobs.where(F.col("restored_path").isNotNull())
    placed = with_places(
        restored.withColumnRenamed("job_id", "_job").withColumn("_metadata", F.concat("restored_path", F.lit("/_metadata"))), "_metadata"
    )
    prefix = F.regexp_extract("restored_path", "/savepoint-([0-9a-f]{6})-[0-9a-f]{12}(?:/|$)", 1)
    return placed.select(
        "audit_id",
        "cluster",
        F.col("_job").alias("job_id"),
        "terminal",
        "seen",
        "restored_path",
        "restored_at",
        "last_completed_at",
        F.col("job_id").alias("from_job_id"),
        F.col("checkpoint_id").alias("from_checkpoint_id"),
        F.when(prefix != "", prefix).alias("from_prefix"),
    )


def owners(jobs: DataFrame, roots: DataFrame) -> DataFrame:
    """Per root and job id: how many ``claims`` clusters lay to it, and what is known of the job.

    ``failed`` are checkpoints that provably never completed. Where two clusters have a job of one id, the answers are those
    that keep most.
    """
    places = roots.select("audit_id", "root", "clusters")
    claimed = jobs.join(F.broadcast(places), "audit_id").where((F.size("clusters") == 0) | F.array_contains("clusters", F.col("cluster")))
    ended = F.flatten(F.collect_list(F.coalesce("checkpoints_ended", F.array())))
    known = claimed.groupBy("audit_id", "root", "job_id").agg(
        F.countDistinct("cluster").alias("claims"),
        F.max("cluster").alias("cluster"),
        F.max("name").alias("job_name"),
        F.bool_and(F.coalesce("terminal", F.lit(False))).alias("terminal"),
        F.bool_and(F.coalesce("seen", F.lit(False))).alias("seen"),
        F.min("in_flight_since").alias("in_flight_since"),
        F.min("last_completed_at").alias("last_completed_at"),
        ended.alias("ended"),
    )
    # Those seen discarded are many; here only what never completed counts, and only where no other of that number did.
    completed = F.transform(F.filter("ended", lambda end: F.coalesce(end.completed, F.lit(True))), lambda end: end.checkpoint_id)
    failed = F.filter(
        "ended", lambda end: ~F.coalesce(end.completed, F.lit(True)) & ~F.array_contains(completed, end.checkpoint_id)
    )  # fmt: skip
    return known.withColumn("failed", F.slice(failed, 1, MOST_ENDED)).drop("ended")
