"""A lost run directory, with Spark and without: what is made again from the lake are the rows that
would have come anyway.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from ingest.records import LogRecord, Observed
from tests.ingest.recorded import RECORDINGS
from tests.migrated import home_with_database
from tests.spark_jobs.rows import JOB, noon
from tests.spark_processes import PROJECT, environment_without_spark
from tests.webapp.pipeline.test_lost_runs import spoil

pytestmark = [pytest.mark.cluster, pytest.mark.long]

RECORDING = "1.20.5/F"
TRIGGERED = (
    f"Triggering checkpoint 7 (type=CHECKPOINT) @ {round(noon().timestamp() * 1000)} for job {JOB}."
)
DECLINED = f"Decline checkpoint 7 by task {'e' * 32} of job {JOB} at tm-1 @ host-1 (dataPort=1)."
TABLES = (
    "fleet_jobcurrent",
    "fleet_jobexception",
    "fleet_jobannotation",
    "fleet_logevent",
    "checkpoints_checkpointfact",
    "checkpoints_checkpointrollup",
    "checkpoints_sizetrend",
    "checkpoints_checkpointupload",
    "pressure_pressurewindow",
    "findings_finding",
    "findings_findingoccurrence",
    "findings_jobjudgement",
    "work_skippedinput",
)
OF_THE_DATABASE = ("id", "to_alert")


class Home:
    def __init__(self, root: Path, spark: str, most_rows_without_spark: int) -> None:
        self.root = root
        self.spark = spark
        self.most_rows_without_spark = most_rows_without_spark
        self.lake = Lake(str(root / "lake"))

    def cycle(self) -> str:
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WEIR_", "DJANGO_"))
        }
        environment = environment_without_spark(**variables) | {
            "WEIR_HOME": str(self.root), "SPARK_REMOTE": self.spark,
            "WEIR_MOST_ROWS_WITHOUT_SPARK": str(self.most_rows_without_spark),
        }  # fmt: skip
        command = [sys.executable, "manage.py", "run_pipeline"]
        done = subprocess.run(
            command,
            env=environment,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def log(self, second: int, message: str) -> None:
        record = LogRecord(
            "jm.log", noon(second), "INFO", "CC", message, f"{second:032x}", 0, "jm.log", second
        )
        self.lake.append([Observed("late-trigger", noon(3600), "log", (record,))])

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        with sqlite3.connect(self.root / "weir.sqlite3") as database:
            database.row_factory = sqlite3.Row
            return {table: self._rows(database, table) for table in TABLES}

    @property
    def newest_run(self) -> Path:
        return max((self.root / "runs").glob("spark-*"))

    @staticmethod
    def _rows(database: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
        rows = [dict(row) for row in database.execute(f"SELECT * FROM {table}")]
        return sorted(
            (
                {name: value for name, value in row.items() if name not in OF_THE_DATABASE}
                for row in rows
            ),
            key=repr,
        )


@pytest.fixture(params=[0, 40_000], ids=["with Spark", "without"])
def home(request: pytest.FixtureRequest, tmp_path: Path, warm_spark: str) -> Home:
    return Home(home_with_database(tmp_path / "home"), warm_spark, request.param)


def test_a_lost_run_leaves_the_rows_of_one_that_was_not_lost(home: Home, tmp_path: Path) -> None:
    recording = tmp_path / "first-half"
    shutil.copytree(RECORDINGS / RECORDING, recording)
    import_recording(recording, "recorded", home.lake)
    home.log(3, DECLINED)
    home.cycle()
    shutil.copytree(home.root, tmp_path / "kept")

    def news() -> None:
        home.log(0, TRIGGERED)

    def again() -> None:
        shutil.rmtree(home.root)
        shutil.copytree(tmp_path / "kept", home.root)

    news()
    home.cycle()
    expected = home.rows()
    assert expected["checkpoints_checkpointfact"]
    assert expected["findings_finding"]

    again()
    shutil.rmtree(home.newest_run)
    news()
    assert "Everything is read again from the lake." in home.cycle()
    assert home.rows() == expected

    again()
    for jobs in (home.newest_run / "jobs").glob("*.parquet"):
        spoil(jobs, _amid(jobs, "state"))
    news()
    assert "Everything is read again from the lake." in home.cycle()
    assert home.rows() == expected


def _amid(file: Path, column: str) -> int:
    """A place in the pages of this column."""
    group = pq.ParquetFile(file).metadata.row_group(0)
    (chunk,) = (
        group.column(place)
        for place in range(group.num_columns)
        if group.column(place).path_in_schema == column
    )
    return (
        chunk.dictionary_page_offset or chunk.data_page_offset
    ) + chunk.total_compressed_size // 2
