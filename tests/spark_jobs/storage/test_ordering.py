"""Files that are not live are written in the order of audit, root and path, whatever their names
and however many workers judged them.
"""

import tempfile
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs import audit_on_spark
from spark_jobs.audit_on_spark import Frame, SparkEngine
from spark_jobs.run_files import RunFiles
from tests.attacks.scale import examples

ROOTS = ("file:/mnt/ckpt", "hdfs://nn/flink", "hdfs://nn/flink-2", "s3://bucket")
NAMES = st.text(st.sampled_from("ab/-.~_0é\U0001f600"), min_size=1, max_size=12)
FILES = st.lists(
    st.tuples(st.integers(0, len(ROOTS) - 1), NAMES, st.booleans()), min_size=1, max_size=40
)
SCHEMA = pa.schema([("root_no", pa.int64()), ("root", pa.string()), ("path", pa.string())])


@pytest.mark.parametrize(("most_of_one_worker", "files_a_worker"), [(100, 100), (0, 7)])
def test_files_are_in_the_order_of_their_roots_and_paths(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    most_of_one_worker: int,
    files_a_worker: int,
) -> None:
    monkeypatch.setattr(audit_on_spark, "SMALL_ROWS", most_of_one_worker)
    monkeypatch.setattr(audit_on_spark, "ROWS_A_TASK", files_a_worker)

    @settings(max_examples=examples(2, 40), deadline=None)
    @given(files=FILES)
    def check(files: Sequence[tuple[int, str, bool]]) -> None:
        # One whose path lies elsewhere, by its spelling, keeps its place all the same.
        rows = [
            (number, ROOTS[number], f"{ROOTS[number]}/{name}" if inside else f"hdfs://{name}")
            for number, name, inside in files
        ]
        # Parquet and its readers compare UTF-8, and so do code points.
        assert written(spark, rows) == sorted(rows)

    check()


def written(
    spark: SparkSession, rows: Sequence[tuple[int, str, str]]
) -> list[tuple[int, str, str]]:
    """What one step over the files leaves, file by file."""

    def step(parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        return {"not_live": parts["files"]}

    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    frame = Frame(spark.createDataFrame(pa.table(columns, schema=SCHEMA)), SCHEMA, len(rows))
    with tempfile.TemporaryDirectory() as folder, SparkEngine(spark, folder) as engine:
        made = engine.run(step, {"files": frame}, {"not_live": SCHEMA}, ("path",))
        run_dir = RunFiles(folder)
        engine.write_ordered(run_dir, "storage_file", made["not_live"], pa.schema(list(SCHEMA)[1:]))
        output = run_dir.outputs["storage_file"]
        read = [pq.read_table(f"{folder}/{file}") for file in output.files]
    assert output.rows == len(rows)
    number_of = {root: number for number, root in enumerate(ROOTS)}
    return [
        (number_of[row["root"]], row["root"], row["path"])
        for table in read
        for row in table.to_pylist()
    ]
