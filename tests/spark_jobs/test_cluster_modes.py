"""The same cycle in one process without Spark, on a standalone cluster and on Spark Connect gives
the same serving rows.
"""

import json
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from spark_jobs import manifest as manifests
from spark_jobs.run_rows import rows_of
from spark_jobs.serving import SERVING_TABLES
from tests.ingest.recorded import RECORDINGS
from tests.spark_processes import run_cycle, standalone_cluster

pytestmark = pytest.mark.cluster

CYCLE_WITHIN_S = 1200
RECORDED = ("1.20.5/J", "1.12.5/G")

ROWS_AT_ONCE = 10_000
STEPS = ("session of Spark", "events:", "jobs:")
STEPS_WITHOUT_SPARK = ("checkpoint_upload:", "jobs:")
"""How the lines begin that a cycle prints on its way."""
ALWAYS_SPARK = ("--most-rows-without-spark", "0")

Rows = dict[str, list[str]]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lake")
    for recording in RECORDED:
        import_recording(RECORDINGS / recording, recording.replace("/", "-"), Lake(str(root)))
    return root


@pytest.fixture(scope="module")
def locally(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What one process makes of the lake, without Spark: nobody listens at that address."""
    return served(
        lake,
        tmp_path_factory.mktemp("local") / "run",
        "alone",
        {"SPARK_REMOTE": "sc://127.0.0.1:1"},
    )


def served(
    lake: Path, run_dir: Path, attempt: str, environment: Mapping[str, str], *more: str
) -> Rows:
    """Run a cycle to its end; the rows of each serving table, as sorted JSON."""
    process = run_cycle(
        lake, run_dir, attempt, {"WEIR_SPARK_DRIVER_MEMORY": "1g", **environment}, *more
    )
    try:
        told, _ = process.communicate(timeout=CYCLE_WITHIN_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, told[-4000:]
    return served_by(run_dir)


def served_by(run_dir: Path) -> Rows:
    manifest = manifests.read(str(run_dir / "manifest.json"))
    return {
        name: sorted(
            json.dumps(row, default=str, sort_keys=True)
            for batch in rows_of(manifest, name, table.column_names, ROWS_AT_ONCE)
            for row in batch.to_pylist()
        )
        for name, table in SERVING_TABLES.items()
    }


def test_the_recordings_fill_every_serving_table(locally: Rows) -> None:
    assert set(locally) == set(SERVING_TABLES)
    # Roll-ups are made of what the lake keeps of facts, by a run of their own.
    assert {name for name, rows in locally.items() if not rows} <= {
        "skipped_input",
        "checkpoint_rollup",
    }


@pytest.mark.long
def test_two_workers_give_the_rows_of_one_process(
    lake: Path, locally: Rows, tmp_path: Path
) -> None:
    with standalone_cluster(tmp_path / "cluster") as master:
        small_executors = {"PYSPARK_SUBMIT_ARGS": "--conf spark.executor.memory=600m pyspark-shell"}
        spread = served(
            lake,
            tmp_path / "run",
            "standalone",
            {"SPARK_MASTER": master, **small_executors},
            *ALWAYS_SPARK,
        )
    assert spread == locally


@pytest.fixture(scope="module")
def connected(lake: Path, warm_spark: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run on Spark Connect, left to it as there was too much for one process;
    its attempt then closed its session.
    """
    run_dir = tmp_path_factory.mktemp("connected") / "run"
    served(
        lake, run_dir, "connect", {"SPARK_REMOTE": warm_spark}, "--most-rows-without-spark", "1000"
    )
    return run_dir


@pytest.mark.long
def test_spark_connect_gives_the_rows_of_one_process(locally: Rows, connected: Path) -> None:
    assert served_by(connected) == locally


@pytest.mark.long
def test_what_is_too_much_for_one_process_is_left_to_spark(connected: Path) -> None:
    assert list((connected / "staged").iterdir()), "only Spark stages rows"


def test_killed_at_each_step_without_spark_the_next_attempt_completes(
    lake: Path, locally: Rows, tmp_path: Path
) -> None:
    for step in STEPS_WITHOUT_SPARK:
        _killed(run_cycle(lake, tmp_path / "run", "killed", {}, killed_after=step))
        assert not (tmp_path / "run" / "manifest.json").exists()
    assert served(lake, tmp_path / "run", "again", {}) == locally


@pytest.mark.long
@pytest.mark.usefixtures("connected")
def test_after_clients_killed_at_each_step_and_a_closed_session_the_next_attempt_completes(
    lake: Path, locally: Rows, warm_spark: str, tmp_path: Path
) -> None:
    left = [*ALWAYS_SPARK, "--interrupt", "connect"]
    for number, step in enumerate(STEPS):
        attempt = f"killed-{number}"
        at = {"SPARK_REMOTE": warm_spark}
        _killed(run_cycle(lake, tmp_path / attempt, attempt, at, *left, killed_after=step))
        assert not (tmp_path / attempt / "manifest.json").exists()
        left += ["--interrupt", attempt]
    assert (tmp_path / attempt / "jobs").exists()
    assert served(lake, tmp_path / "again", "again", {"SPARK_REMOTE": warm_spark}, *left) == locally
    assert not list(tmp_path.glob("killed-*/manifest.json"))


def _killed(process: "subprocess.Popen[str]") -> None:
    """Wait until the process has killed itself at its step."""
    told, _ = process.communicate(timeout=CYCLE_WITHIN_S)
    assert process.returncode == -signal.SIGKILL, "The client ended by itself:\n" + told
