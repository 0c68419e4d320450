"""The fold as Spark runs it: parts of jobs in, serving tables out."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.nested_tables import JOB, NESTED, RETRACTED, cut
from spark_jobs.transforms import folding, log_events
from tests.spark_jobs.rows import Row

Tables = dict[str, list[dict[str, Any]]]


def folded(parts: Mapping[str, DataFrame]) -> tuple[Tables, list[dict[str, Any]]]:
    """Rows of all tables, and what came out of each job beside them."""
    told = {name: log_events.with_served(rows) if name == "events" else rows for name, rows in parts.items()}
    result = folding.folded(told, Settings()).toArrow()
    (jobs,) = result.combine_chunks().to_batches() or [result.schema.empty_table().to_batches()]
    tables = {table.name: cut(jobs, table).to_pylist() for table in (*NESTED, RETRACTED)}
    return tables, result.select([*JOB, "state", "lookup", "comparisons"]).to_pylist()


def table(name: str, **parts: DataFrame) -> list[Row]:
    return list(folded(parts)[0][name])
