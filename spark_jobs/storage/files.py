"""Every listed file with what earlier audits knew of it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.inputs import KNOWN_OF_FILE
from spark_jobs.storage.keys import FILE_KEY, looked_up, with_file_key
from spark_jobs.storage.layout_columns import job_directory, with_places


def numbered(roots: DataFrame) -> DataFrame:
    """(root_no, audit_id, root, as_of) in the order of audits and roots: files are joined and counted by numbers, not by texts."""
    listed = F.sort_array(F.collect_list(F.struct("audit_id", "root", "as_of")))
    return roots.agg(listed.alias("listed")).select(F.posexplode("listed").alias("root_no", "of")).select("root_no", "of.*")


def listed_files(listing: DataFrame, known_files: DataFrame, roots: DataFrame) -> DataFrame:
    """Listed files with their place; first seen now where no audit saw them. Partitioned by ``FILE_KEY`` from here on.

    As many rows as ``listing`` has, or more where ``known_files`` has two of one file: then it is to be ``merged`` first.
    ``listed_path`` is null where it is the same as ``path``: one long text less to be moved about.
    """
    known = with_file_key(known_files).select(*FILE_KEY, *KNOWN_OF_FILE)
    named = listing.withColumn("listed_path", F.nullif("listed_path", "path"))
    files = with_file_key(named).join(looked_up(known), FILE_KEY, "left").join(F.broadcast(numbered(roots)), ["audit_id", "root"])
    return with_places(files).withColumn("first_seen_at", F.coalesce("first_seen_at", "as_of")).drop("root", "as_of")


def held_directories(files: DataFrame, roots: DataFrame) -> DataFrame:
    """(held_no, audit_id, root, root_no, job_directory, job_id, files), one row a job directory.

    One row without a job stands for all files that lie in none. To be kept before it is used:
    ``held_no`` is another one each time.
    """
    directory = job_directory(F.col("path"), F.col("place"), F.col("job_id"))
    counted = files.groupBy("root_no", directory.alias("job_directory")).agg(F.count("*").alias("files"), F.max("job_id").alias("job_id"))
    named = counted.join(F.broadcast(numbered(roots).drop("as_of")), "root_no")
    return named.withColumn("held_no", F.monotonically_increasing_id())


def merged(known_files: DataFrame) -> DataFrame:
    """One row for each file: where two listed names are one path, or two roots hold it, what keeps it longer counts."""
    return known_files.groupBy("audit_id", "path").agg(*(F.max(name).alias(name) for name in KNOWN_OF_FILE))


def absent_files(files: DataFrame, known_files: DataFrame, roots: DataFrame) -> DataFrame:
    """Files seen before and not listed now: all below roots that were not listed whole, and those whose referrer vanished.

    When they can be listed again, it must not look as if Weir saw them for the first time, or as if
    nothing had ever referred to them. A listing may lack a directory without a word.
    """
    torn = roots.select("audit_id", "root", (F.col("unlisted") > 0).alias("is_torn"))
    kept = known_files.join(F.broadcast(torn), ["audit_id", "root"]).where(F.col("is_torn") | F.col("vanished_referrer").isNotNull())
    if kept.isEmpty():  # as usual: then nobody need look through all files
        return with_file_key(known_files.limit(0))
    return with_file_key(kept.drop("is_torn")).join(files.select(*FILE_KEY), FILE_KEY, "left_anti")
