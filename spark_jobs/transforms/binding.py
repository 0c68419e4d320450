"""Naming an intermediate value inside of one column expression."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body`` of ``value``, which is computed once however often ``body`` uses it.

    Without it, Spark copies ``value`` into each use when it merges projections and pushes filters down. Inside of one
    expression only: what several columns need is better put behind an ``explode`` of an array of one, which nothing crosses.
    """
    return F.transform(F.array(value), body)[0]
