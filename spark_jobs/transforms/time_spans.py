"""Cuts instants to UTC windows in any session time zone."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.spans import Span, instant, merge_spans

DAY_S = 24 * 3600

MOST_SPANS = 400
"""Each span is a part of every filter. Instead of more spans, one span over all is used."""


def floor_to(at: str | Column, seconds: int) -> Column:
    return F.timestamp_seconds(F.floor(F.unix_seconds(at) / seconds) * seconds)


def spans(rows: DataFrame, instant_column: str | Column, length_s: int) -> list[Span]:
    """Spans of whole windows with all rows, merged if adjacent."""
    starts = rows.select(F.unix_seconds(floor_to(instant_column, length_s)).alias("start"))
    bounds = [(row.start, row.start) for row in starts.distinct().limit(MOST_SPANS + 1).collect()]
    if len(bounds) > MOST_SPANS:
        bounds = [tuple(starts.agg(F.min("start"), F.max("start")).collect()[0])]
    return merge_spans((instant(first), instant(last + length_s)) for first, last in bounds)
