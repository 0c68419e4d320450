"""What retained checkpoints refer to: per checkpoint and file, and per file over all checkpoints."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import directory_of, is_below, with_job_directory, with_places


def read_snapshots(references: DataFrame) -> DataFrame:
    """A row for each ``_metadata`` that was read to its end."""
    of_file = references.where(F.col("ordinal") == 0)
    snapshots = of_file.groupBy("audit_id", "metadata_path").agg(
        F.max("root").alias("root"),
        F.max("checkpoint_id").alias("written_checkpoint_id"),
        F.max("metadata_bytes").alias("metadata_bytes"),
        F.max("metadata_modified").alias("modified"),
    )
    placed = with_places(snapshots, "metadata_path").drop("checkpoint_id").withColumnRenamed("written_checkpoint_id", "checkpoint_id")
    in_job = with_job_directory(placed, "metadata_path")
    return in_job.withColumn("directory", directory_of(F.col("metadata_path")))


def referred_files(references: DataFrame, snapshots: DataFrame) -> DataFrame:
    """``storage_reference``: distinct files by checkpoint. Bytes of a merged file are those of the distinct segments in it.

    One file is often referred to by many handles (channels of a task, subtasks of a changelog), each with its whole size.
    """
    handles = references.where(F.col("path").isNotNull() & (F.col("ordinal") > 0)).withColumn("size", F.coalesce("size_bytes", F.lit(0)))
    segments = handles.groupBy("audit_id", "metadata_path", "path", "offset_bytes").agg(F.max("size").alias("size"))
    of_segment = F.col("offset_bytes").isNotNull()
    files = segments.groupBy("audit_id", "metadata_path", "path").agg(
        F.coalesce(F.sum(F.when(of_segment, F.col("size"))), F.max("size")).alias("bytes"), F.bool_or(of_segment).alias("segmented")
    )
    return files.join(snapshots.select("audit_id", "metadata_path"), ["audit_id", "metadata_path"], "left_semi")


_PATHS = ("written_path", "task_owned_directory", "shared_directory")


def written_in(references: DataFrame) -> DataFrame:
    """Per checkpoint: ``inline_bytes`` of state within the ``_metadata``, and whether nothing in it is an absolute path.

    ``unplaced``: references that are written in no way from which a path can be told.
    """
    absolute = (F.coalesce(F.col(name).rlike("^(/|[A-Za-z][A-Za-z0-9+.-]*:)"), F.lit(False)) for name in _PATHS)
    return references.groupBy("audit_id", "metadata_path").agg(
        F.coalesce(F.sum(F.when(F.col("inline_at").isNotNull(), F.col("size_bytes"))), F.lit(0)).alias("inline_bytes"),
        (~F.bool_or(reduce(Column.__or__, absolute))).alias("relocatable"),
        F.count_if(F.col("path").isNull() & F.col("written_path").isNotNull()).alias("unplaced"),
    )


def segments_of_checkpoints(references: DataFrame, snapshots: DataFrame) -> DataFrame:
    """(audit_id, metadata_path, path, offset_bytes, bytes) of the distinct segments of merged files by checkpoint."""
    segments = references.where(F.col("offset_bytes").isNotNull() & F.col("path").isNotNull()).join(
        snapshots.select("audit_id", "metadata_path"), ["audit_id", "metadata_path"], "left_semi"
    )
    return segments.groupBy("audit_id", "metadata_path", "path", "offset_bytes").agg(F.max("size_bytes").alias("bytes"))


def live_segments(segments: DataFrame) -> DataFrame:
    """Of :func:`segments_of_checkpoints` per merged file: bytes of the distinct ones that any retained checkpoint refers to."""
    distinct = segments.groupBy("audit_id", "path", "offset_bytes").agg(F.max("bytes").alias("size"))
    return distinct.groupBy("audit_id", "path").agg(F.sum("size").alias("live_segment_bytes"))


def with_roots(files: DataFrame, roots: DataFrame) -> DataFrame:
    """Adds the audited root that ``path`` lies below as ``ref_root``, null where none, and how much of it was ``unlisted``."""
    below = roots.select("audit_id", F.col("root").alias("ref_root"), F.col("unlisted").alias("ref_unlisted"))
    named, whole = files.alias("named"), F.broadcast(below).alias("below")
    same = F.col("named.audit_id") == F.col("below.audit_id")
    return named.join(whole, same & is_below(F.col("named.path"), F.col("below.ref_root")), "left").drop(F.col("below.audit_id"))
