"""What the audit before knew of referrers that are gone, and what the next one has to know."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import is_below, with_places

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


def vanished_files(unread: DataFrame, pending: DataFrame, jobs: DataFrame) -> DataFrame:
    """(audit_id, path, vanished_referrer): referred to by a ``_metadata`` that is gone and that nobody saw discarded."""
    gone = with_places(_paths(unread).join(_paths(pending), CHECKPOINT, "left_anti"), "metadata_path")
    ended = jobs.select("audit_id", "job_id", F.explode("checkpoints_ended").alias("ended"))
    discarded = ended.where(F.col("ended.discarded")).select("audit_id", "job_id", F.col("ended.checkpoint_id").alias("checkpoint_id"))
    unexplained = gone.join(discarded.distinct(), ["audit_id", "job_id", "checkpoint_id"], "left_anti")
    files = unread.join(unexplained.select(*CHECKPOINT), CHECKPOINT)
    return files.groupBy("audit_id", "path").agg(F.max("metadata_path").alias("vanished_referrer"))


def _paths(referred: DataFrame) -> DataFrame:
    return referred.select(*CHECKPOINT).distinct()
