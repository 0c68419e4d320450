"""Every listed file with what earlier audits knew of it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.inputs import SEEN, columns
from spark_jobs.storage.keys import FILE_KEY, with_file_key
from spark_jobs.storage.places import with_places

_KNOWN = columns(SEEN)[3:]


def listed_files(listing: DataFrame, seen: DataFrame, roots: DataFrame) -> DataFrame:
    """Listed files with their place; first seen now where no audit saw them. Partitioned by ``FILE_KEY`` from here on."""
    # Two listed names may be one canonical path: what keeps a file longer counts.
    known = with_file_key(seen).groupBy(*FILE_KEY).agg(*(F.max(name).alias(name) for name in _KNOWN))
    scope = roots.select("audit_id", "root", "as_of")
    files = with_file_key(listing).join(known, FILE_KEY, "left").join(F.broadcast(scope), ["audit_id", "root"])
    return with_places(files).withColumn("first_seen_at", F.coalesce("first_seen_at", "as_of")).drop("as_of")


def absent_files(files: DataFrame, seen: DataFrame, roots: DataFrame) -> DataFrame:
    """Files seen before and not listed now, below roots that were not listed whole.

    When such a directory can be listed again, it must not look as if Weir saw its files for the first time, or as if
    nothing had ever referred to them.
    """
    torn = roots.where(F.col("unlisted") > 0).select("audit_id", "root")
    return with_file_key(seen.join(F.broadcast(torn), ["audit_id", "root"])).join(files.select(*FILE_KEY), FILE_KEY, "left_anti")
