"""Stretches of time that a few rows touch, so that a table is read there alone."""

from collections.abc import Iterable
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake import Span
from spark_jobs.transforms.instants import floor_to

MOST_SPANS = 400
"""Beyond it the whole time between them is as good: each is a part of every filter."""


def spans(rows: DataFrame, instant: str | Column, length_s: int) -> list[Span]:
    """The windows of ``length_s`` that hold ``instant`` of any row, neighbours merged: a few, whatever the number of rows."""
    starts = rows.select(F.unix_seconds(floor_to(instant, length_s)).alias("start"))
    found = [(row.start, row.start) for row in starts.distinct().limit(MOST_SPANS + 1).collect()]
    if len(found) > MOST_SPANS:
        found = [tuple(starts.agg(F.min("start"), F.max("start")).collect()[0])]
    return merged((datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last + length_s, UTC)) for first, last in found)


def merged(found: Iterable[Span]) -> list[Span]:
    """In order, those that overlap or touch as one."""
    whole: list[Span] = []
    for start, end in sorted(found):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole
