"""Instants cut to windows, without the session's time zone having a say."""

from pyspark.sql import Column
from pyspark.sql import functions as F

HOUR_S = 3600
DAY_S = 24 * HOUR_S


def floor_to(instant: str | Column, seconds: int) -> Column:
    """Start of the UTC window of ``seconds`` that holds ``instant``."""
    return F.timestamp_seconds(F.floor(F.unix_seconds(instant) / seconds) * seconds)
