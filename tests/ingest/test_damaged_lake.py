"""A lake that lost or garbled files is told of by table, file and remedy; tables that are whole go
on.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.__main__ import main as ingest_main
from ingest.lake.damage import LakeDamaged
from ingest.lake.store import Lake
from ingest.records import Checkpoint, Observed, Skip
from spark_jobs.__main__ import main as spark_jobs_main
from tests.ingest.recorded import RECORDINGS

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)


def seen(number: int) -> Observed:
    return Observed(
        "c",
        AT,
        "rest",
        (Skip(f"s{number}", "r", "d"), Checkpoint("a" * 32, number, AT, "COMPLETED")),
    )


def entries(root: Path) -> list[Path]:
    return sorted((root / "checkpoints" / "_delta_log").glob("*.json"))


def data(root: Path) -> Path:
    return next((root / "checkpoints").rglob("*.parquet"))


def torn_entry(root: Path) -> None:
    entries(root)[1].write_bytes(entries(root)[1].read_bytes()[:60])


def lost_entry(root: Path) -> None:
    entries(root)[1].unlink()


def garbled_entry(root: Path) -> None:
    entries(root)[0].write_bytes(b"\x00\xff" * 99)


def log_is_no_directory(root: Path) -> None:
    shutil.rmtree(entries(root)[0].parent)
    (root / "checkpoints" / "_delta_log").write_text("x")


def lost_file(root: Path) -> None:
    data(root).unlink()


def torn_file(root: Path) -> None:
    data(root).write_bytes(data(root).read_bytes()[:-20])


def other_columns(root: Path) -> None:
    content = data(root).stat().st_size
    pq.write_table(pa.table({"x": list(range(content))}), data(root))


LOGS = (torn_entry, lost_entry, garbled_entry, log_is_no_directory)
FILES = (lost_file, torn_file, other_columns)
Damage = Callable[[Path], None]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    for number in (1, 2, 3):
        lake.append([seen(number)])
    return lake


def read(lake: Lake, table: str) -> int:
    return lake.read(
        table, where={}, from_time=AT - timedelta(days=1), to_time=AT + timedelta(days=1), limit=9
    ).num_rows


@pytest.mark.parametrize("damage", LOGS)
def test_a_damaged_log_is_named_and_other_tables_are_written_all_the_same(
    lake: Lake, damage: Damage
) -> None:
    damage(Path(lake.root))
    for ask in (
        lambda: lake.version("checkpoints"),
        lambda: read(lake, "checkpoints"),
        lambda: lake.append([seen(4)]),
    ):
        with pytest.raises(
            LakeDamaged, match=r"Lake table checkpoints at .*_delta_log.*run_pipeline --from-start"
        ) as raised:
            ask()
        assert "\n" not in str(raised.value)
    assert (read(lake, "skips"), lake.version("skips")) == (4, 4)


@pytest.mark.parametrize("damage", FILES)
def test_a_damaged_file_is_named_and_new_rows_are_still_written(lake: Lake, damage: Damage) -> None:
    path = data(Path(lake.root))
    damage(Path(lake.root))
    with pytest.raises(LakeDamaged, match=path.name):
        read(lake, "checkpoints")
    with pytest.raises(LakeDamaged, match=path.name):
        lake.compact("checkpoints")
    assert lake.append([seen(4)])["checkpoints"] == 4
    assert read(lake, "skips") == 4


def test_a_table_moved_away_begins_anew(lake: Lake) -> None:
    torn_entry(Path(lake.root))
    (Path(lake.root) / "checkpoints").rename(Path(lake.root) / "damaged")
    lake.append([seen(4)])
    assert read(lake, "checkpoints") == 1


def said(*words: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SPARK_")
    }
    environment |= {"SPARK_MASTER": "local[1]", "WEIR_SPARK_DRIVER_MEMORY": "512m"}
    return subprocess.run(
        [sys.executable, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.parametrize("damage", LOGS)
def test_commands_say_it_in_one_sentence(
    tmp_path: Path, lake: Lake, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(Path(lake.root))
    for command, words in (
        (
            ingest_main,
            ["import", str(RECORDINGS / "1.20.5" / "E"), "--cluster", "c", "--lake", lake.root],
        ),
        (
            spark_jobs_main,
            ["cycle", "--lake", lake.root, "--run-dir", str(tmp_path / "run"), "--attempt", "a-1"],
        ),
    ):
        assert command(words) == 2
        error = capsys.readouterr().err
        assert "Traceback" not in error
        assert "Lake table checkpoints" in error.splitlines()[-1]


def test_spark_over_a_torn_file_names_it_in_its_last_line(tmp_path: Path, lake: Lake) -> None:
    torn_file(Path(lake.root))
    done = said(
        "-m",
        "spark_jobs",
        "cycle",
        "--lake",
        lake.root,
        "--run-dir",
        str(tmp_path / "run"),
        "--attempt",
        "a-1",
    )
    assert done.returncode == 2
    assert "Lake table checkpoints" in done.stderr.splitlines()[-1]
    assert data(Path(lake.root)).parent.name in done.stderr.splitlines()[-1]
