"""Instants cut to windows, without the session's time zone having a say, and the stretches of time
that the rows of a frame touch.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.spans import Span, instant, merged

DAY_S = 24 * 3600

MOST_SPANS = 400
"""Beyond it the whole time between them is as good: each is a part of every filter."""


def floor_to(at: str | Column, seconds: int) -> Column:
    """Start of the UTC window of ``seconds`` that holds ``at``."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(at) / seconds) * seconds)


def spans(rows: DataFrame, instant_column: str | Column, length_s: int) -> list[Span]:
    """The windows of ``length_s`` that hold an instant of any row, neighbours merged: a few,
    whatever the number of rows.
    """
    starts = rows.select(F.unix_seconds(floor_to(instant_column, length_s)).alias("start"))
    spans_read = [
        (row.start, row.start) for row in starts.distinct().limit(MOST_SPANS + 1).collect()
    ]
    if len(spans_read) > MOST_SPANS:
        spans_read = [tuple(starts.agg(F.min("start"), F.max("start")).collect()[0])]
    return merged((instant(first), instant(last + length_s)) for first, last in spans_read)
