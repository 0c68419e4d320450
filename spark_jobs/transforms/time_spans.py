"""Cuts instants to UTC windows in any session time zone."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.spans import Span, instant, merge_spans

DAY_S = 24 * 3600

MOST_SPANS = 400
"""Each span is a part of every filter: with more of them, one span over all is as good."""


def floor_to(at: str | Column, seconds: int) -> Column:
    """Start of the UTC window of ``seconds`` that holds ``at``."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(at) / seconds) * seconds)


def spans(rows: DataFrame, instant_column: str | Column, length_s: int) -> list[Span]:
    """Neighbours are merged: few for any number of rows."""
    starts = rows.select(F.unix_seconds(floor_to(instant_column, length_s)).alias("start"))
    starts_of_windows = [
        (row.start, row.start) for row in starts.distinct().limit(MOST_SPANS + 1).collect()
    ]
    if len(starts_of_windows) > MOST_SPANS:
        starts_of_windows = [tuple(starts.agg(F.min("start"), F.max("start")).collect()[0])]
    return merge_spans(
        (instant(first), instant(last + length_s)) for first, last in starts_of_windows
    )
