"""Naming an intermediate value inside of one column expression."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body`` of ``value``, which is computed once however often ``body`` uses it.

    Without it, Spark copies ``value`` into each use when it merges projections and pushes filters down, and a chain
    of such steps grows beyond what the JVM compiles. Written as a lambda over an array of one element, since
    Spark interprets lambdas: no generated code, whose size would matter.
    """
    return F.transform(F.array(value), body)[0]
