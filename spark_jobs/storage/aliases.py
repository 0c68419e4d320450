"""One directory under two names: what a checkpoint needs under the one looks dead under the other.

Flink names its files by UUIDs below the id of a job, so that no two files anywhere end alike. Where two listed paths do, they
are one file (a bind mount, two mounts of one export, a NameNode's address beside its name service) or a copy of it: nobody
can tell which from here. So both are kept, and the doubt says which two directories they are.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.storage.layout import UUID_CHARS
from spark_jobs.storage.inputs import DOUBTS
from spark_jobs.storage.layout_columns import cut, is_candidate
from spark_jobs.storage_words import TWO_NAMES

_FILE = ["audit_id", "job_id", "name"]
_ADVICE = (
    "If it is one directory, declare the one name an alias of the other (WEIR_STORAGE_ALIASES) and remove that root; "
    "if it is a copy, remove the root that nobody restores from."
)


def twins(files: DataFrame, held: DataFrame) -> DataFrame:
    """Listed files that end like another one: (audit_id, path, referred_as, root, directory, other_directory).

    Only jobs that have files in more than one directory are looked at; usually there is none.
    """
    jobs = held.where(F.col("job_id").isNotNull()).groupBy("audit_id", "job_id")
    directories = jobs.agg(F.countDistinct("job_directory").alias("directories"))
    spread = directories.where(F.col("directories") > 1).select("audit_id", "job_id")
    candidates = files.where(is_candidate(F.col("place")) & (F.col("place") != "metadata"))
    if spread.isEmpty():
        candidates = candidates.limit(0)
    named = candidates.join(F.broadcast(spread), ["audit_id", "job_id"]).select(
        "audit_id", "root_no", "job_id", "path", cut(F.col("path"), F.lit(-UUID_CHARS), F.lit(UUID_CHARS)).cast("string").alias("name")
    )
    ends = named.groupBy(*_FILE).agg(F.min("path").alias("first"), F.max("path").alias("last")).where(F.col("first") != F.col("last"))
    roots = held.select("root_no", "root").distinct()
    other = F.when(F.col("path") == F.col("first"), F.col("last")).otherwise(F.col("first"))
    found = named.join(ends, _FILE).join(F.broadcast(roots), "root_no").withColumn("referred_as", other)
    return found.select(
        "audit_id", "path", "referred_as", "root", _above("path").alias("directory"), _above("referred_as").alias("other_directory")
    )


def of_twins(twins: DataFrame) -> DataFrame:
    """A doubt for each directory and another one that holds the same files."""
    pairs = twins.groupBy("audit_id", "root", "directory", "other_directory").agg(F.count("*").alias("files"), F.min("path").alias("path"))
    detail = F.format_string(f"%d files below it are also listed below %s, such as %s. {_ADVICE}", "files", "other_directory", "path")
    return pairs.select("audit_id", F.col("directory").alias("subject"), F.lit(TWO_NAMES).alias("reason"), "root", detail.alias("detail"))


def same_metadata(references: DataFrame, snapshots: DataFrame) -> DataFrame:
    """A doubt for each checkpoint whose ``_metadata`` has the same content as another one of that job and number.

    Jobs of fixed ids have checkpoints of the same number in many places; what those refer to differs.
    """
    key = ["audit_id", "job_id", "checkpoint_id", "metadata_bytes"]
    placed = snapshots.where((F.col("place") == "metadata") & F.col("job_id").isNotNull()).select(*key, "metadata_path", "root")
    alike = placed.groupBy(*key).agg(F.count("*").alias("places")).where(F.col("places") > 1)
    suspects = placed.join(alike, key)
    if suspects.isEmpty():
        references = references.limit(0)
    written = references.where((F.col("ordinal") > 0) & F.col("written_path").isNotNull())
    digest = F.bit_xor(F.xxhash64("ordinal", "written_path", "offset_bytes", "size_bytes"))
    contents = (
        written.join(suspects, ["audit_id", "metadata_path"], "left_semi").groupBy("audit_id", "metadata_path").agg(digest.alias("digest"))
    )
    read = suspects.join(contents, ["audit_id", "metadata_path"])
    same = read.groupBy(*key, "digest").agg(F.min("metadata_path").alias("first"), F.max("metadata_path").alias("last"))
    pairs = read.join(same.where(F.col("first") != F.col("last")), [*key, "digest"])
    other = F.when(F.col("metadata_path") == F.col("first"), F.col("last")).otherwise(F.col("first"))
    detail = F.concat(F.lit("It has the same content as "), other, F.lit(f". {_ADVICE}"))
    return pairs.select(
        "audit_id", F.col("metadata_path").alias("subject"), F.lit(TWO_NAMES).alias("reason"), "root", detail.alias("detail")
    ).select(*DOUBTS.names)


def _above(path: str) -> Column:
    """The directory that the job's one lies in."""
    return F.regexp_extract(path, "^([\\s\\S]*)/[0-9a-f]{32}/", 1)
