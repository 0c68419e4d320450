"""What checkpoints uploaded, found by the names of their RocksDB files: parsed ``_metadata`` → rows of ``checkpoint_upload``.

RocksDB numbers the files of one subtask and never writes one again, so the name and size of a file say which it is, and the
path where it lies. Under a name of the compared snapshot in the same place, it was kept; in another place, uploaded again; under
a name it did not have, it is new (written since, or by a compaction).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.nested_tables import JOB
from spark_jobs.schemas import serving_columns
from spark_jobs.serving import CHECKPOINT_UPLOAD
from spark_jobs.transforms.replays import newest_by

SST = ".sst"
_CHECKPOINT = (*JOB, "checkpoint_id", "trigger_time")
_FILE = ("operator_id", "subtask", "kind", "local_name")


def of_files(compared: DataFrame, files: DataFrame) -> DataFrame:
    """Of comparisons (:mod:`spark_jobs.fold.comparisons`) those of which either snapshot is among ``files`` (rows of ``references``)."""
    read = files.where(F.col("ordinal") == 0).select("cluster", _directory().alias("read")).distinct()
    either = compared.withColumn("read", F.explode(F.array("directory", "compared_with")))
    return either.join(read, on=["cluster", "read"], how="left_semi").drop("read").distinct()


def uploads(compared: DataFrame, references: DataFrame) -> DataFrame:
    """Rows of ``checkpoint_upload`` for the comparisons of which both snapshots were read.

    ``references`` are rows of the lake, of any files, the same ones perhaps several times.
    """
    of_snapshots = references.withColumn("directory", _directory()).join(
        compared.select("cluster", F.explode(F.array("directory", "compared_with")).alias("directory")).distinct(),
        on=["cluster", "directory"],
        how="left_semi",
    )
    read = _read(of_snapshots)
    files = _files(of_snapshots, read)
    known = read.select("cluster", "directory", "observed_at")
    both = compared.join(known, on=["cluster", "directory"], how="inner").join(
        known.select("cluster", F.col("directory").alias("compared_with"), F.col("observed_at").alias("compared_at")),
        on=["cluster", "compared_with"],
        how="inner",
    )
    theirs = files.select("cluster", F.col("directory").alias("compared_with"), *_FILE, F.col("file").alias("their_file"), "size_bytes")
    mine = files.withColumnRenamed("size_bytes", "bytes")
    matched = both.join(mine, on=["cluster", "directory"], how="left").join(
        theirs.withColumnRenamed("size_bytes", "their_bytes"), on=["cluster", "compared_with", *_FILE], how="left"
    )
    # Of equal numbers in a RocksDB that was built anew, the size tells that they are different files.
    same = F.col("their_file").isNotNull() & (F.col("bytes") == F.col("their_bytes"))
    kept = same & (F.col("file") == F.col("their_file"))
    known_at = F.greatest(F.max("observed_at"), F.max("compared_at"))
    summed = matched.groupBy(*_CHECKPOINT, "compared_with").agg(
        _bytes(kept).alias("kept_bytes"),
        _bytes(same & ~kept).alias("same_name_bytes"),
        _bytes(~same).alias("new_name_bytes"),
        known_at.alias("as_of"),
    )
    return serving_columns(summed, CHECKPOINT_UPLOAD)


def _directory() -> Column:
    return F.regexp_replace("metadata_path", "/_metadata$", "")


_VERSION = ("metadata_bytes", "metadata_modified", "reader_version")


def _read(references: DataFrame) -> DataFrame:
    """(cluster, directory, observed_at, …): the newest version of each file that was read to its end, and when it first was."""
    whole = references.where(F.col("ordinal") == 0).groupBy("cluster", "directory", *_VERSION)
    versions = whole.agg(F.min("observed_at").alias("observed_at"), F.max("observed_at").alias("last_read_at"))
    return newest_by(versions, ("cluster", "directory"), ("last_read_at",))


def _files(references: DataFrame, read: DataFrame) -> DataFrame:
    """(cluster, directory, operator, subtask, kind, local name, file, size) of RocksDB files, each once."""
    version = [references[name].eqNullSafe(read[name]) for name in ("cluster", "directory", *_VERSION)]
    of_version = references.join(read, on=version, how="left_semi").where(F.col("path").isNotNull() & F.col("local_name").endswith(SST))
    # File names in a checkpoint directory are random, so the name says which file it is, however the path is spelled.
    file = F.concat_ws("@", F.element_at(F.split("path", "/"), -1), F.col("offset_bytes").cast("string"))
    return of_version.groupBy("cluster", "directory", *_FILE).agg(F.max(file).alias("file"), F.max("size_bytes").alias("size_bytes"))


def _bytes(condition: Column) -> Column:
    return F.coalesce(F.try_sum(F.when(condition, F.col("bytes"))), F.lit(0)).cast("bigint")
