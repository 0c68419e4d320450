"""Merged files that hold most which nothing refers to: what compacting them would free. A few of each root."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import with_places

MOST_OF_ROOT = 100


def worth_compacting(resolved: DataFrame, live_segments: DataFrame) -> DataFrame:
    """``storage_merged_file``, of files that are there and that a retained snapshot refers to; others are orphans or waste, not amplified.

    ``live_segments``: (audit_id, path, live_segment_bytes) over all retained snapshots.
    """
    referred = resolved.where(F.col("segmented") & F.col("found") & F.col("ref_root").isNotNull())
    files = referred.groupBy("audit_id", "path").agg(
        F.max("ref_root").alias("root"), F.max("file_bytes").alias("bytes"), F.countDistinct("metadata_path").alias("checkpoints")
    )
    held = files.join(live_segments, ["audit_id", "path"]).withColumn("unused_bytes", F.col("bytes") - F.col("live_segment_bytes"))
    most_first = Window.partitionBy("audit_id", "root").orderBy(F.col("unused_bytes").desc(), "path")
    ranked = held.where(F.col("unused_bytes") > 0).withColumn("_place", F.row_number().over(most_first))
    placed = with_places(ranked.where(F.col("_place") <= MOST_OF_ROOT))
    return placed.withColumn("job_id", F.coalesce("job_id", F.lit("")))
