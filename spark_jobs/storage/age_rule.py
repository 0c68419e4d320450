"""What deleting by age would have done: the usual rule, held against what is referred to."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.storage.keys import FILE_KEY, with_file_key
from spark_jobs.storage.layout_columns import is_below
from spark_jobs.storage_words import LIVE, ORPHAN

MOST_CHECKPOINTS = 200
"""Of each root, those that would lose most files; their count is exact."""

_ROOT = ["audit_id", "root"]


def deleted_files(files: DataFrame, as_of: DataFrame, days: int, below: str = "") -> DataFrame:
    """Files (``storage_file`` and ``storage_live`` rows) with ``old``: written more than ``days`` before the audit, ``below`` a directory.

    As such a rule judges: by modification time alone, whatever the file is. One without a time is not deleted.
    """
    dated = files.join(F.broadcast(as_of.select(*_ROOT, "as_of")), _ROOT)
    old = F.coalesce(F.col("modified") < F.col("as_of") - F.make_dt_interval(days=F.lit(days)), F.lit(False))
    return dated.withColumn("old", old & is_below(F.col("path"), F.lit(below)) if below else old)


def root_totals(files: DataFrame) -> DataFrame:
    """Per root: what would be deleted, how much of it is live, and the orphans that the rule would leave."""
    old, live, orphan = F.col("old"), F.col("verdict") == LIVE, F.col("verdict") == ORPHAN
    sums = {"": old, "live_": old & live, "missed_": ~old & orphan}
    return files.groupBy(*_ROOT).agg(
        *(F.count_if(which).alias(f"{name}files") for name, which in sums.items()),
        *(F.coalesce(F.sum(F.when(which, F.col("bytes"))), F.lit(0)).alias(f"{name}bytes") for name, which in sums.items()),
    )


def broken_checkpoints(files: DataFrame, references: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Per root and checkpoint that can be restored now, but not without the deleted files of that root.

    ``lost_files`` and ``lost_bytes`` of what it refers to, and ``lost_metadata``.
    """
    old = with_file_key(files.where(F.col("old"))).select(*FILE_KEY, "root", F.col("bytes").alias("file_bytes"))
    lost = with_file_key(references).join(old, FILE_KEY).groupBy(*_ROOT, "metadata_path").agg(
        F.count("*").alias("lost_files"), F.sum("file_bytes").alias("lost_bytes")
    )  # fmt: skip
    own = old.select(*_ROOT, F.col("path").alias("metadata_path"), F.lit(True).alias("lost_metadata"))
    # What names the root of a checkpoint is not needed: a rule for one root breaks checkpoints in others.
    whole = checkpoints.where(F.coalesce("resolvable", F.lit(True))).drop("root")
    either = lost.join(own, [*_ROOT, "metadata_path"], "full_outer").join(whole, ["audit_id", "metadata_path"])
    return either.fillna(0, ["lost_files", "lost_bytes"]).fillna(False, ["lost_metadata"])


def most_broken(broken: DataFrame) -> DataFrame:
    """The first ``MOST_CHECKPOINTS`` of each root, in order of ``place``."""
    order = Window.partitionBy(*_ROOT).orderBy(F.desc("lost_files"), F.desc("lost_bytes"), "metadata_path")
    return broken.withColumn("place", F.row_number().over(order)).where(F.col("place") <= MOST_CHECKPOINTS)


def broken_totals(broken: DataFrame) -> DataFrame:
    """Per root: how many checkpoints would be ``broken``, and of how many ``jobs``."""
    job = F.when(F.col("job_id") != "", F.struct("cluster", "job_id"))
    return broken.groupBy(*_ROOT).agg(F.count("*").alias("broken"), F.countDistinct(job).alias("jobs"))
