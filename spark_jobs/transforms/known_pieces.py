"""Which of some known pieces a text holds: the leftmost decides, as in :mod:`ingest.flink_logs.reasons`."""

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from ingest.flink_logs.reasons import any_of
from spark_jobs.transforms.binding import let


def of_first_piece(text: Column, values: Mapping[str, str]) -> Column:
    """Value of the leftmost piece that ``text`` holds; null where it holds none or is null."""
    return of_piece(F.regexp_extract(text, any_of(values), 1), values)


def of_piece(piece: Column, values: Mapping[str, str]) -> Column:
    """Value of ``piece`` in a small table; null where it is not in it."""
    pieces = F.array(*(F.lit(known) for known in values))
    codes = F.array(*(F.lit(code) for code in values.values()))
    return let(F.array_position(pieces, piece), lambda place: F.when(place > 0, F.element_at(codes, place.cast("int"))))
