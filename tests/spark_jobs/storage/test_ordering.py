"""Files that are not live are written in the order of audit, root and path, whatever their names."""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.audit_ordering import by_path
from tests.attacks.scale import examples

ROOTS = ("file:/mnt/ckpt", "hdfs://nn/flink", "hdfs://nn/flink-2", "s3://bucket")
NAMES = st.text(st.sampled_from("ab/-.~_0é\U0001f600"), min_size=1, max_size=12)
FILES = st.lists(
    st.tuples(st.integers(0, len(ROOTS) - 1), NAMES, st.booleans()), min_size=1, max_size=40
)


@settings(max_examples=examples(2, 20), deadline=None)
@given(files=FILES)
def test_files_are_in_the_order_of_their_roots_and_paths(
    spark: SparkSession, files: Sequence[tuple[int, str, bool]]
) -> None:
    # One whose path lies elsewhere, by its spelling, keeps its place all the same.
    rows = [
        (number, ROOTS[number], f"{ROOTS[number]}/{name}" if inside else f"hdfs://{name}")
        for number, name, inside in files
    ]
    columns = zip(*rows, strict=True)
    frame = spark.createDataFrame(
        pa.table([pa.array(column) for column in columns], names=["root_no", "root", "path"])
    )
    ordered = by_path(frame, len(ROOTS)).select("root_no", "root", "path").toArrow().to_pylist()
    # Parquet and its readers compare UTF-8, and so do code points.
    assert [tuple(row.values()) for row in ordered] == sorted(rows)
