"""What Spark reads of the state that an earlier run left."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import Row, SparkSession

from spark_jobs.frames import state_frame
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import JOB_STATE
from spark_jobs.step_schemas import STATE

FILE = "state/jobs.parquet"
AT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def previous(tmp_path: Path) -> Manifest:
    """A run that remembers ``remembered`` of one job, as plain bytes in its only page."""
    (tmp_path / "state").mkdir()
    state = pa.table(
        {"cluster": ["c"], "job_id": ["j"], "state": pa.array([b"remembered"], pa.binary())}
    )
    pq.write_table(
        state,
        tmp_path / FILE,
        compression="none",
        use_dictionary=False,
        write_statistics=False,
        write_page_checksum=True,
    )
    run = Manifest("cycle", "earlier", {}, {}, {}, {JOB_STATE: (FILE,)}, AT, AT)
    return replace(run, run_dir=str(tmp_path))


def read(spark: SparkSession, previous: Manifest) -> list[Row]:
    return state_frame(spark, previous, JOB_STATE, STATE).collect()


def test_the_state_of_an_earlier_run_is_read(spark: SparkSession, previous: Manifest) -> None:
    assert [row["state"] for row in read(spark, previous)] == [b"remembered"]


def test_a_flipped_byte_that_can_still_be_read_is_noticed(
    spark: SparkSession, previous: Manifest
) -> None:
    file = Path(previous.run_dir) / FILE
    whole = file.read_bytes()
    assert whole.count(b"remembered") == 1
    file.write_bytes(whole.replace(b"remembered", b"remembeRed"))
    with pytest.raises(Py4JJavaError, match="checksum verification failed"):
        read(spark, previous)
