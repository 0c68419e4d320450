"""Root and concurrent exceptions of jobs."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_jobs.schemas import serving_schema
from spark_jobs.serving import JOB_EXCEPTION
from spark_jobs.transforms.exception_batches import exception_columns


def job_exceptions(exceptions: DataFrame) -> DataFrame:
    """Lake rows of ``exceptions`` → ``job_exception`` rows."""
    return exceptions.mapInArrow(_batches, serving_schema(JOB_EXCEPTION))


def _batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (pa.RecordBatch.from_pydict(exception_columns(batch)) for batch in batches)
