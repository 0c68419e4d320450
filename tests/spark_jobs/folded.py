"""The fold as Spark runs it: parts of jobs in, serving tables out."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.nested_tables import JOB, NESTED, RETRACTED, unnest
from spark_jobs.schemas import spark_schema
from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.transforms import event_batches, folding
from spark_jobs.transforms.fold_batches import FOLDED, folded_batches
from spark_jobs.worker_rows import WorkerRows
from tests.spark_jobs.rows import Row

Tables = dict[str, list[dict[str, Any]]]


def folded(parts: Mapping[str, DataFrame]) -> tuple[Tables, list[dict[str, Any]]]:
    """Rows of all tables, and what came out of each job beside them."""
    told = {name: with_served(rows) if name == "events" else rows for name, rows in parts.items()}
    folds = partial(folded_batches, settings=Settings())
    result = WorkerRows(folding.group_rows(told), folds, FOLDED).frame().toArrow()
    (jobs,) = result.combine_chunks().to_batches() or [result.schema.empty_table().to_batches()]
    tables = {table.name: unnest(jobs, table).to_pylist() for table in (*NESTED, RETRACTED)}
    return tables, result.select([*JOB, "state", "lookup"]).to_pylist()


def with_served(events: DataFrame) -> DataFrame:
    return events.mapInArrow(
        lambda batches: map(event_batches.with_served, batches), spark_schema(SERVED_EVENT)
    )


def table(name: str, **parts: DataFrame) -> list[Row]:
    return list(folded(parts)[0][name])
