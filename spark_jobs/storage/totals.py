"""Counts and bytes of an audit: one pass over the files makes a small cube, everything else is sums of that."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.layout_columns import is_metadata
from spark_jobs.storage_words import TWO_NAMES, VERDICTS

SMALL_FILE_BYTES = 1 << 20
_ROOT = ["audit_id", "root"]
_REACHED = ("foreign", "missing")
_MERGED = ("segmented_files", "segmented_file_bytes", "live_segment_bytes")


def cube(files: DataFrame) -> DataFrame:
    """Files and bytes by directory, verdict, kind and size (``le_step``), as the numbers that ``verdicts.spelled_out`` reads."""
    size, metadata = F.coalesce("bytes", F.lit(0)), is_metadata(F.col("path"))
    rows = files.withColumns(
        {
            "size": size,
            "le_step": _step(size),
            "is_metadata": metadata,
            "is_small": (size <= SMALL_FILE_BYTES) & ~metadata,
        }
    )
    segmented = F.col("segmented")
    return rows.groupBy("held_no", "line_no", "kind_no", "le_step", "is_small").agg(
        F.count("*").alias("files"),
        F.sum("size").alias("bytes"),
        F.count_if("is_metadata").alias("metadata_files"),
        F.count_if(segmented).alias("segmented_files"),
        F.coalesce(F.sum(F.when(segmented, F.col("size"))), F.lit(0)).alias("segmented_file_bytes"),
        F.coalesce(F.sum("live_segment_bytes"), F.lit(0)).alias("live_segment_bytes"),
        F.count_if(F.col("replication").isNotNull()).alias("replicated_files"),
        F.coalesce(F.sum(F.col("size") * F.col("replication")), F.lit(0)).alias("raw_bytes"),
    )


def _step(size: Column) -> Column:
    """The exponent of the lowest power of two that is not below ``size``, in whole numbers: 0 for 0 and 1."""
    return F.when(size <= 1, 0).otherwise(F.length(F.bin(size - 1))).cast("int")


def of_verdicts(cube: DataFrame) -> DataFrame:
    """``storage_verdict``."""
    kind = F.coalesce("kind", F.lit("")).alias("kind")
    return cube.groupBy(*_ROOT, "verdict", "reason", kind).agg(F.sum("files").alias("files"), F.sum("bytes").alias("bytes"), _raw())


def of_roots(cube: DataFrame, checkpoints: DataFrame, missing: DataFrame, doubts: DataFrame, roots: DataFrame) -> DataFrame:
    """``storage_root``; a root without any file has a row, too."""
    sums = cube.groupBy(*_ROOT).agg(*_sums(), _raw(), F.sum("metadata_files").alias("metadata_files"))
    histogram = cube.groupBy(*_ROOT, "le_step").agg(F.sum("files").alias("files"), F.sum("bytes").alias("bytes"))
    step = F.struct(F.pow(F.lit(2), F.col("le_step")).cast("bigint").alias("le_bytes"), "files", "bytes")
    histograms = histogram.groupBy(*_ROOT).agg(F.to_json(F.sort_array(F.collect_list(step))).alias("size_histogram"))
    read = checkpoints.groupBy(*_ROOT).agg(F.count("*").alias("checkpoints"))
    lost = missing.groupBy("audit_id", F.col("ref_root").alias("root")).agg(
        F.count("*").alias("missing_files"), F.sum("bytes").alias("missing_bytes")
    )
    doubted = doubts.groupBy("audit_id").agg(F.count("*").alias("doubts"))
    named_twice = doubts.where(F.col("reason") == TWO_NAMES).select(*_ROOT, F.lit(True).alias("two_names")).distinct()
    joined = roots.select(*_ROOT, "as_of", "unlisted", "attested", "blind")
    for part in (sums, histograms, read, lost, named_twice):
        joined = joined.join(part, _ROOT, "left")
    whole = joined.join(doubted, "audit_id", "left")
    unknown = (*_ROOT, "raw_bytes")
    counts = [name for name in (*sums.columns, "checkpoints", "missing_files", "missing_bytes", "doubts") if name not in unknown]
    filled = whole.fillna(0, counts).fillna({"size_histogram": "[]"})
    reasons = F.filter(
        F.array(
            F.when(~F.col("attested"), "not_attested"), F.when(F.col("two_names"), "two_names"), F.when(F.col("doubts") > 0, "in_doubt"),
            F.when(F.col("blind"), "blind_cluster"),
        ),
        lambda reason: reason.isNotNull(),
    )  # fmt: skip
    return filled.withColumns({"cleanable": F.size(reasons) == 0, "not_cleanable": F.to_json(reasons)})


def of_jobs(cube: DataFrame, checkpoints: DataFrame, resolved: DataFrame, owners: DataFrame) -> DataFrame:
    """``storage_job``: directories of jobs, and jobs of which only checkpoints elsewhere are known."""
    key = [*_ROOT, "job_directory"]
    small = F.sum(F.when(F.col("is_small"), F.col("files")).otherwise(0)).alias("small_files")
    in_job = cube.where(F.col("job_directory").isNotNull())
    sums = in_job.groupBy(*key, "job_id").agg(*_sums(), _raw(), small)
    own = checkpoints.where(F.col("job_directory").isNotNull() & ~F.col("is_savepoint"))
    of_checkpoints = own.groupBy(*key).agg(
        F.count("*").alias("checkpoints"), F.max("checkpoint_id").alias("newest_checkpoint_id"),
        F.max_by("modified", "checkpoint_id").alias("newest_modified"),
    )  # fmt: skip
    keyed = resolved.join(own.select(*key, "metadata_path"), ["audit_id", "metadata_path"])
    per_file = keyed.groupBy(*key, "path").agg(
        F.max("bytes").alias("bytes"),
        F.bool_or(~F.col("own")).alias("foreign"),
        F.bool_or(F.coalesce("missing", F.lit(False))).alias("missing"),
    )
    reached = per_file.groupBy(*key).agg(
        *(F.count_if(name).alias(f"{name}_files") for name in _REACHED),
        *(F.coalesce(F.sum(F.when(F.col(name), F.col("bytes"))), F.lit(0)).alias(f"{name}_bytes") for name in _REACHED),
    )
    known = owners.select(*key, "claims", "cluster", "job_name", "terminal")
    joined = sums.join(of_checkpoints, key, "left").join(reached, key, "left").join(known, key, "left")
    counts = ["checkpoints", *(name for name in reached.columns if name not in key)]
    single = F.col("claims") == 1
    return joined.fillna(0, counts).withColumns(
        {
            "directory": F.col("job_directory"),
            "cluster": F.coalesce("cluster", F.lit("")),
            "terminal": F.when(single, F.col("terminal")),
        }
    )


def _raw() -> Column:
    return F.when(F.sum("replicated_files") == F.sum("files"), F.sum("raw_bytes")).alias("raw_bytes")


def _sums() -> list[Column]:
    of_verdict = [
        F.sum(F.when(F.col("verdict") == verdict, F.col(unit)).otherwise(0)).alias(f"{verdict}_{unit}")
        for verdict in VERDICTS
        for unit in ("files", "bytes")
    ]
    return [*(F.sum(name).alias(name) for name in ("files", "bytes")), *of_verdict, *(F.sum(name).alias(name) for name in _MERGED)]
