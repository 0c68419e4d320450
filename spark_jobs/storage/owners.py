"""Which job writes which directory, and what is known of that job: small frames, bounded by jobs.

A job in storage is its directory, ``<any directory>/<job id>``: ids repeat, since every job of an
application cluster with high availability has the id 000…0. What a cluster says of a job counts
only for directories that the cluster is known to write.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import with_job_directory, with_places

MOST_ENDED = 1000
"""Checkpoints of a job that tell why a file was left; older ones say nothing of what is there."""

LEFT_AFTER_S = 60
"""How long an upload may go on after its checkpoint has ended."""
CLOCKS_APART_S = 60
"""Between a JobManager and a file system."""
SHARED_ID = "0" * 32
"""Of every job of an application cluster with high availability."""
JOB_DIRECTORY = ["audit_id", "root", "job_directory"]
_OF_JOB = (
    "cluster", "name", "started_at", "terminal", "seen", "keeps_last", "last_completed_id",
    "last_completed_at", "in_flight_since", "checkpoints_ended",
)  # fmt: skip


def restores(jobs: DataFrame) -> DataFrame:
    """Jobs that were restored from a known place.

    ``from_job_directory`` is the directory of the job whose checkpoint that was; of a savepoint
    only ``from_prefix`` is known, the first six digits of its job's id.
    """
    restored = jobs.where(F.col("restored_path").isNotNull()).withColumnRenamed("job_id", "_job")
    metadata = F.concat("restored_path", F.lit("/_metadata"))
    placed = with_job_directory(with_places(restored.withColumn("_metadata", metadata), "_metadata"), "_metadata")
    prefix = F.regexp_extract("restored_path", "/savepoint-([0-9a-f]{6})-[0-9a-f]{12}(?:/|$)", 1)
    return placed.select(
        "audit_id",
        "cluster",
        F.col("_job").alias("job_id"),
        "terminal",
        "seen",
        "keeps_last",
        "restored_path",
        "restored_at",
        "last_completed_id",
        "last_completed_at",
        "checkpoints_ended",
        F.col("job_id").alias("from_job_id"),
        F.col("job_directory").alias("from_job_directory"),
        F.col("checkpoint_id").alias("from_checkpoint_id"),
        F.when(prefix != "", prefix).alias("from_prefix"),
    )


def directories(held: DataFrame, snapshots: DataFrame) -> DataFrame:
    """(audit_id, root, job_directory, job_id) of which any file was listed or read."""
    names = [*JOB_DIRECTORY, "job_id"]
    read = snapshots.where(F.col("place") == "metadata").select(*names)
    return held.select(*names).unionByName(read).where(F.col("job_directory").isNotNull()).distinct()


def writers(jobs: DataFrame, directories: DataFrame, roots: DataFrame) -> DataFrame:
    """Each directory with each job that ``writes`` it, or that nobody can say does not.

    A job writes a directory if its last checkpoint was reported there. Of one that never reported
    any, the operator may have said it: the root is registered for one
    cluster alone, and holds one directory of that id. A job of that id and of an allowed cluster
    of which no directory is known at all may write to any of them.
    """
    of_id = ["audit_id", "root", "job_id"]
    counted = directories.groupBy(*of_id).agg(F.count("*").alias("of_this_id"))
    alone = directories.join(counted, of_id).withColumn("alone", F.col("of_this_id") == 1)
    places = F.broadcast(roots.select("audit_id", "root", "clusters"))
    of_jobs = jobs.select("audit_id", "job_id", "written_directory", *_OF_JOB)
    pairs = alone.join(places, ["audit_id", "root"]).join(of_jobs, ["audit_id", "job_id"])
    unnamed = F.size("clusters") == 0
    allowed = unnamed | F.array_contains("clusters", F.col("cluster"))
    reported = F.coalesce(F.col("written_directory") == F.col("job_directory"), F.lit(False))
    unreported = F.col("written_directory").isNull()
    for_one = (F.size("clusters") == 1) & allowed
    declared = for_one & F.col("alone") & unreported
    # Another application of this id may have written there whom nobody remembers.
    is_told_apart = (F.col("job_id") != SHARED_ID) | for_one
    claimed = pairs.withColumns(
        {
            "writes": (reported & allowed & is_told_apart) | declared,
            "may_write": reported | declared | (allowed & unreported),
        }
    )
    return claimed.where(F.col("may_write")).drop("clusters", "of_this_id", "alone", "written_directory", "may_write")


def owners(writers: DataFrame) -> DataFrame:
    """Per job directory: how many clusters have ``claims`` to it, and what is known of the job.

    ``claims`` is 0 where no job is known to write it; ``suspects`` are those that may. ``cluster``
    and ``job_name`` are null unless there is one claim.
    ``failed`` are checkpoints that provably never completed. Where two clusters may write it,
    the answers are those that keep most.
    """
    ended = F.flatten(F.collect_list(F.coalesce("checkpoints_ended", F.array())))
    known = writers.groupBy(*JOB_DIRECTORY, "job_id").agg(
        F.countDistinct("cluster").alias("suspects"),
        F.bool_or("writes").alias("is_known"),
        F.max("cluster").alias("cluster"),
        F.max("name").alias("job_name"),
        F.max("started_at").alias("started_at"),
        F.bool_and(F.coalesce("terminal", F.lit(False))).alias("terminal"),
        F.bool_and(F.coalesce("seen", F.lit(False))).alias("seen"),
        F.min("in_flight_since").alias("in_flight_since"),
        F.min("last_completed_id").alias("last_completed_id"),
        F.min("last_completed_at").alias("last_completed_at"),
        ended.alias("ended"),
    )
    # Those seen discarded are many; here only what never completed counts, and only where no
    # other checkpoint of that number did.
    completed = F.transform(
        F.filter("ended", lambda end: F.coalesce(end.completed, F.lit(True))),
        lambda end: end.checkpoint_id,
    )
    failed = F.filter(
        "ended",
        lambda end: ~F.coalesce(end.completed, F.lit(True)) & ~F.array_contains(completed, end.checkpoint_id),
    )
    claims = F.when(F.col("is_known"), F.col("suspects")).otherwise(F.lit(0))
    counted = known.withColumns({"failed": F.slice(failed, 1, MOST_ENDED), "claims": claims})
    of_one = {name: F.when(F.col("claims") == 1, F.col(name)) for name in ("cluster", "job_name")}
    return counted.withColumns(of_one).drop("ended", "is_known")


def sole_writers(owners: DataFrame) -> DataFrame:
    """(audit_id, root, job_directory, cluster, job_id) of directories with one known writer."""
    return owners.where(F.col("claims") == 1).select(*JOB_DIRECTORY, "cluster", "job_id")


def is_of_time(modified: Column, end: Column, before_s: int = 0) -> Column:
    """Whether a file may have been written for a checkpoint (of ``failed``), by when that was triggered and ended."""
    since = end.triggered_at - F.make_dt_interval(secs=F.lit(before_s))
    until = F.coalesce(end.ended_at, end.triggered_at) + F.make_dt_interval(secs=F.lit(LEFT_AFTER_S))
    return F.coalesce((modified >= since) & (modified <= until), F.lit(False))
