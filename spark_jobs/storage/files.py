"""Every listed file with what earlier audits knew of it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.inputs import SEEN, columns
from spark_jobs.storage.keys import FILE_KEY, looked_up, with_file_key
from spark_jobs.storage.places import with_places

_KNOWN_BY = ["last_referrer", "vanished_referrer"]
_KNOWN_AT = [name for name in columns(SEEN)[3:] if name not in _KNOWN_BY]


def listed_files(listing: DataFrame, seen: DataFrame, roots: DataFrame) -> DataFrame:
    """Listed files with their place; first seen now where no audit saw them. Partitioned by ``FILE_KEY`` from here on."""
    # Two listed names may be one canonical path: what keeps a file longer counts. Instants of all files and names of the few
    # that were ever referred to are reckoned apart: the largest of texts cannot be found without sorting.
    keyed = with_file_key(seen)
    known_at = keyed.groupBy(*FILE_KEY).agg(*(F.max(name).alias(name) for name in _KNOWN_AT))
    named = keyed.where(F.coalesce(*_KNOWN_BY).isNotNull())
    known_by = named.groupBy(*FILE_KEY).agg(*(F.max(name).alias(name) for name in _KNOWN_BY))
    scope = roots.select("audit_id", "root", "as_of")
    listed = with_file_key(listing).join(looked_up(known_at), FILE_KEY, "left").join(looked_up(known_by), FILE_KEY, "left")
    files = listed.join(F.broadcast(scope), ["audit_id", "root"])
    return with_places(files).withColumn("first_seen_at", F.coalesce("first_seen_at", "as_of")).drop("as_of")


def absent_files(files: DataFrame, seen: DataFrame, roots: DataFrame) -> DataFrame:
    """Files seen before and not listed now, below roots that were not listed whole.

    When such a directory can be listed again, it must not look as if Weir saw its files for the first time, or as if
    nothing had ever referred to them.
    """
    torn = roots.where(F.col("unlisted") > 0).select("audit_id", "root")
    if torn.isEmpty():  # as usual: then nobody need look through all files
        return with_file_key(seen.limit(0))
    return with_file_key(seen.join(F.broadcast(torn), ["audit_id", "root"])).join(files.select(*FILE_KEY), FILE_KEY, "left_anti")
