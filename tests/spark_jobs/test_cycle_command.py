"""``python -m spark_jobs``: arguments, exit codes, and that only a complete run has a manifest."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.lake.store import Lake
from ingest.records import Observed, Skip
from spark_jobs import manifest as manifests
from spark_jobs.__main__ import LOST, main
from spark_jobs.run_files import JOB_STATE
from tests.spark_jobs.rows import NOON


def lake_with_a_skip(root: Path) -> Lake:
    lake = Lake(str(root))
    lake.append([Observed("c", NOON, "rest", (Skip("/jobs", "timeout", "answered too late"),))])
    return lake


def arguments(tmp_path: Path, *more: str) -> list[str]:
    return [
        "cycle",
        "--lake",
        str(tmp_path / "lake"),
        "--run-dir",
        str(tmp_path / "run"),
        "--attempt",
        "a-1",
        *more,
    ]


def test_an_empty_lake_is_a_quick_manifest_without_rows(tmp_path: Path) -> None:
    assert main(arguments(tmp_path)) == 0
    manifest = manifests.read(str(tmp_path / "run" / "manifest.json"))
    assert sum(output.rows for output in manifest.tables.values()) == 0
    assert manifest.attempt == "a-1"


def previous_with(tmp_path: Path, snapshot: str) -> list[str]:
    """Arguments of a run that carries on from one that left this snapshot."""
    assert main(arguments(tmp_path)) == 0
    first = tmp_path / "run" / "manifest.json"
    told = json.loads(first.read_text())
    file = f"state/{snapshot}/a.parquet"
    (tmp_path / "run" / file).parent.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "run" / file)
    first.write_text(json.dumps(told | {"state": {snapshot: [file]}}))
    words = [*arguments(tmp_path, "--previous", str(first))]
    words[4] = str(tmp_path / "run-2")
    return words


def test_nothing_new_carries_the_state_into_the_new_run(tmp_path: Path) -> None:
    assert main(previous_with(tmp_path, JOB_STATE)) == 0
    file = f"state/{JOB_STATE}/a.parquet"
    assert manifests.read(str(tmp_path / "run-2/manifest.json")).state == {JOB_STATE: (file,)}
    assert pq.read_table(tmp_path / "run-2" / file).to_pydict() == {"x": [1]}


def test_what_an_earlier_version_remembers_is_as_good_as_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(previous_with(tmp_path, "job_state")) == LOST
    assert "of an earlier version of Weir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--to", "[]"], "--to must be a JSON object"),
        (["--to", '{"no_table": 1}'], "--to names tables the lake does not have: no_table"),
        (
            ["--previous-to", "[]", "--previous", "/nowhere/manifest.json"],
            "--previous-to must be a JSON object",
        ),
        (["--request", "/nowhere/request.json"], "no request at /nowhere"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(arguments(tmp_path, *more)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_a_lost_run_to_carry_on_from_has_an_exit_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, "--previous", "/nowhere/manifest.json")) == 3
    assert "no manifest at /nowhere" in capsys.readouterr().err
    assert main(arguments(tmp_path)) == 0
    first = str(tmp_path / "run" / "manifest.json")
    assert main(arguments(tmp_path, "--previous", first, "--previous-to", '{"jobs": 4}')) == 3
    assert "ends at other commits" in capsys.readouterr().err
    words = arguments(tmp_path, "--previous", first, "--previous-to", '{"jobs": 0}')
    words[4] = str(tmp_path / "run-2")
    assert main(words) == 0


def test_a_server_that_is_not_there_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake_with_a_skip(tmp_path / "lake")
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1/;use_ssl=false")
    assert main(arguments(tmp_path, "--most-rows-without-spark", "0")) == 2
    assert "No Spark Connect server answers at 127.0.0.1:1" in capsys.readouterr().err


def test_the_last_line_says_what_went_wrong_whatever_trace_stands_above_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_arguments: object) -> int:
        raise RuntimeError(
            "[TASK_FAILED] The task failed.\n\nJVM stacktrace:\n\tat a.B.c(B.scala:7)"
        )

    monkeypatch.setattr("spark_jobs.jobs.cycle.run", fail)
    assert main(arguments(tmp_path)) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "spark_jobs cycle: RuntimeError: [TASK_FAILED] The task failed."
    assert any("B.scala:7" in line for line in said)


def test_an_unknown_job_shows_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no_such_job"]) == 2
    assert "cycle, log_events" in capsys.readouterr().out


def started(tmp_path: Path, *more: str) -> subprocess.Popen[str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SPARK_")
    }
    environment |= {"SPARK_MASTER": "local[1]", "WEIR_SPARK_DRIVER_MEMORY": "512m"}
    command = [sys.executable, "-m", "spark_jobs", *arguments(tmp_path, *more)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def test_a_stopped_run_leaves_no_manifest_and_says_so_by_its_exit_code(tmp_path: Path) -> None:
    lake_with_a_skip(tmp_path / "lake")
    process = started(tmp_path, "--most-rows-without-spark", "0")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("session of Spark")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 143
    assert not (tmp_path / "run" / "manifest.json").exists()


def settings_of_a_fleet() -> dict[str, list[dict[str, object]]]:
    scopes = [{"cluster": "c", "job_id": f"{number:032x}"} for number in range(5_000)]
    return {
        "thresholds": [
            {"key": "checkpoint.expired.look_back_s", "value": 600, **scope}
            for scope in scopes[:1_300]
        ],
        "recovery_points": [
            {"checkpoint_id": 7, "audited_at_ms": 1, "missing_files": 2, **scope}
            for scope in scopes
        ],
    }


def test_a_run_in_a_process_of_its_own_writes_its_manifest_last(tmp_path: Path) -> None:
    lake = lake_with_a_skip(tmp_path / "lake")
    (tmp_path / "request.json").write_text(json.dumps(settings_of_a_fleet()))
    process = started(tmp_path, "--request", str(tmp_path / "request.json"))
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    assert said.splitlines()[-1].startswith("wrote ")
    manifest = manifests.read(str(tmp_path / "run" / "manifest.json"))
    assert (manifest.tables["skipped_input"].rows, manifest.to_seq["skips"]) == (
        1,
        lake.version("skips"),
    )
