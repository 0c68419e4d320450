"""What the audit before knew of referrers that are gone, and what the next one has to know."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import is_below, with_job_directory, with_places

CHECKPOINT = ["audit_id", "metadata_path"]


def unread(referred: DataFrame, snapshots: DataFrame) -> DataFrame:
    """Earlier references of checkpoints that were not read this time."""
    return referred.join(snapshots.select(*CHECKPOINT), CHECKPOINT, "left_anti")


def pending(unread: DataFrame, metadata: DataFrame, roots: DataFrame) -> DataFrame:
    """Of these, those whose ``_metadata`` may still be there: it was listed, or its root was not listed whole, or not at all."""
    listed = metadata.select("audit_id", F.col("path").alias("metadata_path"))
    whole = roots.where(F.col("unlisted") == 0).select("audit_id", "root")
    inside = _paths(unread).join(F.broadcast(whole), "audit_id").where(is_below(F.col("metadata_path"), F.col("root")))
    gone = inside.select(*CHECKPOINT).join(listed, CHECKPOINT, "left_anti")
    return unread.join(gone, CHECKPOINT, "left_anti")


def vanished_files(unread: DataFrame, pending: DataFrame, jobs: DataFrame, sole: DataFrame) -> DataFrame:
    """(audit_id, path, vanished_referrer): the ``_metadata`` that referred to it is gone.

    And nobody saw it discarded: what a cluster says it discarded lay in directories it writes.
    """
    missed = _paths(unread).join(_paths(pending), CHECKPOINT, "left_anti")
    gone = with_job_directory(with_places(missed, "metadata_path"), "metadata_path")
    ended = jobs.select("audit_id", "cluster", "job_id", F.explode("checkpoints_ended").alias("ended"))
    key = ["audit_id", "job_directory", "checkpoint_id"]
    number = F.col("ended.checkpoint_id").alias("checkpoint_id")
    discarded = (
        ended.where(F.col("ended.discarded")).join(sole, ["audit_id", "cluster", "job_id"]).select("audit_id", "job_directory", number)
    )
    unexplained = gone.join(discarded.distinct(), key, "left_anti")
    files = unread.join(unexplained.select(*CHECKPOINT), CHECKPOINT)
    return files.groupBy("audit_id", "path").agg(F.max("metadata_path").alias("vanished_referrer"))


def _paths(referred: DataFrame) -> DataFrame:
    return referred.select(*CHECKPOINT).distinct()
