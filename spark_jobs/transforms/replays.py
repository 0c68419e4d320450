"""Folding rows that the lake holds more than once: replays, overlapping imports, several observations of one thing."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def newest_by(df: DataFrame, keys: Sequence[str], order: Sequence[str | Column]) -> DataFrame:
    """One row for each distinct ``keys``: the one that is largest by ``order``, nulls lowest.

    Columns come out in their old order. Keys may be null; null is a key of its own. Rows that tie on
    ``order`` are ordered by their whole content, so the answer never depends on how the rows were
    partitioned or in which order they were read. Columns must be orderable (no maps).
    """
    ranks = [F.col(rank) if isinstance(rank, str) else rank for rank in order]
    candidate = F.struct(*(rank.alias(f"rank_{n}") for n, rank in enumerate(ranks)), F.struct(*df.columns).alias("row"))
    keyed = df.select(*(F.col(key).alias(f"key_{n}") for n, key in enumerate(keys)), candidate.alias("candidate"))
    newest = keyed.groupBy(*(f"key_{n}" for n in range(len(keys)))).agg(F.max("candidate").alias("newest"))
    # Keys are taken from the grouping, not from the row: so Spark knows that a frame partitioned by them still is.
    column_of_key = {key: f"key_{n}" for n, key in enumerate(keys)}
    return newest.select(*(F.col(column_of_key.get(name, f"newest.row.{name}")).alias(name) for name in df.columns))
