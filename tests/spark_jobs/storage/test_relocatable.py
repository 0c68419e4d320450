"""A checkpoint can be moved as a directory only where nothing in its ``_metadata`` names an absolute place."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.storage.inputs import REFERENCES
from spark_jobs.storage.references import written_in

CASES = {
    "relative names only": ([{"written_path": "0d6f"}, {"written_path": None}], True),
    "no file at all": ([{}], True),
    "a file elsewhere": ([{"written_path": "0d6f"}, {"written_path": "s3://bucket/job/shared/1c"}], False),
    "a local file": ([{"written_path": "/mnt/ckpt/job/shared/1c"}], False),
    "directories of merged files without a segment": ([{"task_owned_directory": "s3://b/t", "shared_directory": "s3://b/s"}], False),
}


@pytest.fixture(scope="module")
def said(spark: SparkSession) -> dict[str, bool]:
    rows = [{"audit_id": "a", "metadata_path": name} | row for name, (given, _) in CASES.items() for row in given]
    texts = {"audit_id", "metadata_path", "written_path", "task_owned_directory", "shared_directory"}
    given = {name: pa.array([row.get(name) for row in rows], pa.string() if name in texts else pa.int64()) for name in REFERENCES.names}
    return {row["metadata_path"]: row["relocatable"] for row in written_in(spark.createDataFrame(pa.table(given))).toArrow().to_pylist()}


@pytest.mark.parametrize("name", CASES)
def test_a_checkpoint_is_relocatable_only_without_absolute_paths(said: dict[str, bool], name: str) -> None:
    assert said[name] is CASES[name][1]
