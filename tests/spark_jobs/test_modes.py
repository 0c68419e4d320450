"""What Spark writes can be read by its owner alone: Hadoop gives each file a mode of its own,
whatever the umask.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.installation import Installation
from webapp.config.environment import PROJECT_DIR

WRITES = """
import os, sys
from ingest.privacy import keep_private
keep_private(os.environ)
from spark_jobs.session import open_session
session = open_session("modes")
session.range(9).selectExpr("id", "id as day").write.partitionBy("day").parquet(sys.argv[1] + "/table")
session.stop()
"""


def test_files_and_directories_that_spark_writes_are_closed(
    spark: SparkSession, tmp_path: Path
) -> None:
    days = spark.range(9).selectExpr("id", "id as day")
    days.write.partitionBy("day").parquet(str(tmp_path / "table"))
    assert open_ones(tmp_path / "table", 0o077) == []


@pytest.mark.long
def test_a_group_may_be_let_in(tmp_path: Path) -> None:
    variables = Installation(tmp_path).variables | {"SPARK_MASTER": "local[1]"}
    folder = tmp_path / "out"
    folder.mkdir(mode=0o755)
    subprocess.run(
        [sys.executable, "-c", WRITES, str(folder)],
        env=variables | {"WEIR_UMASK": "027"},
        cwd=PROJECT_DIR,
        check=True,
    )
    assert open_ones(folder / "table", 0o027) == []
    assert (folder / "table").stat().st_mode & 0o050 == 0o050


def open_ones(table: Path, closed: int) -> list[Path]:
    found = list(table.rglob("*"))
    assert len(found) > 9
    return [path for path in (table, *found) if path.stat().st_mode & closed]
