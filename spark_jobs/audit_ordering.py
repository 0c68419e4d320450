"""Files sorted by audit, root and path, as ``orderBy`` of these three would, in half the time.

Spark compares the first eight bytes of the first column itself and goes back to the rows only where
they are the same. In paths they always are, so the key leaves out what all files of a root share.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_BEFORE, _BELOW, _BEHIND = "012"
"""A listed path may, by its spelling, lie outside its root."""


def by_path(files: DataFrame, roots: int) -> DataFrame:
    """``files`` in order; ``root_no`` counts audits and ``roots`` in theirs."""
    path, below = F.col("path"), F.concat("root", F.lit("/"))
    # Bytes: to count characters takes a walk over them.
    tail = F.substring(path.cast("binary"), F.octet_length(below) + 1, F.octet_length(path))
    outside = F.concat(
        F.when(path < below, _BEFORE).otherwise(_BEHIND).cast("binary"), path.cast("binary")
    )
    within = F.when(path.startswith(below), F.concat(F.lit(_BELOW).cast("binary"), tail)).otherwise(
        outside
    )
    rank = F.lpad(F.col("root_no").cast("string"), len(str(roots)), "0").cast("binary")
    # Texts are compared where they lie; bytes would be copied first.
    key = F.concat(rank, within).cast("string")
    return files.withColumn("order_key", key).orderBy("order_key").drop("order_key")
