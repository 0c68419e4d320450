"""Stretches of time that the rows of a frame touch."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.spans import Span, instant, merged
from spark_jobs.transforms.time_spans import floor_to

MOST_SPANS = 400
"""Beyond it the whole time between them is as good: each is a part of every filter."""


def spans(rows: DataFrame, instant_column: str | Column, length_s: int) -> list[Span]:
    """The windows of ``length_s`` that hold an instant of any row, neighbours merged: a few, whatever the number of rows."""
    starts = rows.select(F.unix_seconds(floor_to(instant_column, length_s)).alias("start"))
    found = [(row.start, row.start) for row in starts.distinct().limit(MOST_SPANS + 1).collect()]
    if len(found) > MOST_SPANS:
        found = [tuple(starts.agg(F.min("start"), F.max("start")).collect()[0])]
    return merged((instant(first), instant(last + length_s)) for first, last in found)
