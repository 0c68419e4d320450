"""What is new of each job brought together with what is known of it, and one pass of plain Python over each."""

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.nested_tables import JOB
from spark_jobs.transforms.fold_batches import FOLDED, folded_batches
from spark_jobs.worker_rows import WorkerRows


def folded(parts: Mapping[str, DataFrame], settings: Settings, compares: bool = False, older_snapshots: bool = False) -> WorkerRows:
    """One row for each job, see ``FOLDED``; ``parts``: name → rows with ``cluster`` and ``job_id``, read by the fold under it.

    ``compares``: every job's comparisons of uploads come out too, and which snapshots it wants.
    """
    fold = partial(folded_batches, settings=settings, compares=compares, older_snapshots=older_snapshots)
    return WorkerRows(in_order(parts), fold, FOLDED)


def in_order(parts: Mapping[str, DataFrame], by: Sequence[str] = JOB) -> DataFrame:
    """Rows of all parts, each in a struct column of its name, those of a key together; those of a cluster part by part."""
    nested = (_nested(rows, name, by) for name, rows in parts.items())
    every = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), nested)
    then = () if by == JOB else (F.col(name).isNull() for name in parts)
    return every.repartition(*by).sortWithinPartitions(*by, *then)


def _nested(rows: DataFrame, name: str, by: Sequence[str]) -> DataFrame:
    return rows.select(*by, F.struct(*(column for column in rows.columns if column not in ("cluster", "date"))).alias(name))
