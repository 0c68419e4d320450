from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.nested_tables import JOB


def group_rows(parts: Mapping[str, DataFrame], by: Sequence[str] = JOB) -> DataFrame:
    nested = (_nest(rows, name, by) for name, rows in parts.items())
    # Rows of a cluster are sorted by part: the rows with a value in the first part come first.
    part_order = () if by == JOB else (F.col(name).isNull() for name in parts)
    return union(nested).repartition(*by).sortWithinPartitions(*by, *part_order)


def union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(lambda frame, other: frame.unionByName(other, allowMissingColumns=True), frames)


def _nest(rows: DataFrame, name: str, by: Sequence[str]) -> DataFrame:
    columns = (column for column in rows.columns if column not in ("cluster", "date"))
    return rows.select(*by, F.struct(*columns).alias(name))
