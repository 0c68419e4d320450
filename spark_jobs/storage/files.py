"""Every listed file with what earlier audits knew of it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.inputs import SEEN, columns
from spark_jobs.storage.keys import FILE_KEY, with_file_key
from spark_jobs.storage.places import with_places

_KNOWN = columns(SEEN)[3:]


def listed_files(listing: DataFrame, seen: DataFrame, roots: DataFrame) -> DataFrame:
    """Listed files, and below roots that were not listed whole also those seen before that are absent now (``listed`` false).

    A file that is back after a directory could not be listed must not look as if Weir saw it for the first time.
    """
    # Two listed names may be one canonical path: what keeps a file longer counts.
    known = with_file_key(seen).groupBy(*FILE_KEY).agg(F.max("root").alias("_root"), *(F.max(name).alias(name) for name in _KNOWN))
    present = with_file_key(listing).withColumn("listed", F.lit(True))
    both = present.join(known, FILE_KEY, "full_outer").withColumns(
        {"root": F.coalesce("root", "_root"), "listed": F.coalesce("listed", F.lit(False))}
    )
    scope = roots.select("audit_id", "root", "as_of", "unlisted")
    files = both.drop("_root").join(F.broadcast(scope), ["audit_id", "root"])
    kept = files.where(F.col("listed") | (F.col("unlisted") > 0))
    return with_places(kept).withColumn("first_seen_at", F.coalesce("first_seen_at", "as_of")).drop("as_of", "unlisted")
