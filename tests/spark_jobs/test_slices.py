"""What waits in the lake is taken in slices, oldest commits first, and leaves what one run over all
of it would have left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.reader import LakeReader
from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from ingest.records import Checkpoint, Job, Observed
from spark_jobs import manifest as manifests
from spark_jobs import slices
from spark_jobs.__main__ import main
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles
from spark_jobs.run_rows import rows_of
from spark_jobs.small.cycle import SmallCycle
from spark_jobs.small.parts import cluster_groups
from spark_jobs.small.rows import SmallLake
from tests.spark_jobs.instances import (
    NAMES,
    RECORDINGS,
    SmallInstance,
    assert_same_rows,
    play_whole,
)
from tests.spark_jobs.rows import NOON

TABLE = "checkpoint_fact"
JOB = "a" * 32


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def commit(lake: Lake, first: int, count: int, clusters: int = 1) -> None:
    at = NOON + timedelta(seconds=first)
    records = [Checkpoint(JOB, number, at, "COMPLETED") for number in range(first, first + count)]
    lake.append([Observed(f"c{number}", at, "rest", tuple(records)) for number in range(clusters)])


class Runs:
    """One after the other, each from the one before."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.all = folder, list[Manifest]()

    def take(self, most_rows: int) -> Manifest:
        run_dir = self.folder / f"run-{len(self.all)}"
        words = [
            "cycle",
            "--lake",
            str(self.folder / "lake"),
            "--run-dir",
            str(run_dir),
            "--attempt",
            f"a-{len(self.all)}",
        ]
        words += ["--most-rows-without-spark", str(most_rows), "--oldest-first", "yes"]
        if self.all:
            words += ["--previous", str(self.folder / f"run-{len(self.all) - 1}" / "manifest.json")]
        assert main(words) == 0
        self.all.append(manifests.read(str(run_dir / "manifest.json")))
        return self.all[-1]

    def facts(self) -> list[tuple[str, int]]:
        told = [
            row
            for run in self.all
            for batch in rows_of(run, TABLE, ("cluster", "checkpoint_id"), 1_000)
            for row in batch.to_pylist()
        ]
        return sorted({(row["cluster"], row["checkpoint_id"]) for row in told})


def test_a_backlog_is_taken_oldest_first_and_every_run_ends_where_the_next_begins(
    lake: Lake, tmp_path: Path
) -> None:
    for first in range(0, 50, 10):
        commit(lake, first, 10)
    runs = Runs(tmp_path)
    ends = [runs.take(most_rows=25).to_seq["checkpoints"] for _ in range(3)]
    assert ends == [2, 4, 5]
    assert [run.from_seq["checkpoints"] for run in runs.all] == [0, 2, 4]
    assert runs.facts() == [("c0", number) for number in range(50)]


def test_one_commit_that_is_too_large_is_taken_some_clusters_at_a_time(
    lake: Lake, tmp_path: Path
) -> None:
    commit(lake, 0, 10, clusters=7)
    commit(lake, 100, 1)
    runs = Runs(tmp_path)
    assert runs.take(most_rows=25).to_seq["checkpoints"] == 1
    assert len(runs.all[0].tables[TABLE].files) > 1
    assert runs.take(most_rows=25).to_seq["checkpoints"] == 2
    known = [(f"c{cluster}", number) for cluster in range(7) for number in range(10)]
    assert runs.facts() == sorted([*known, ("c0", 100)])


def test_a_cluster_that_alone_is_too_much_is_taken_all_the_same(lake: Lake, tmp_path: Path) -> None:
    commit(lake, 0, 60)
    runs = Runs(tmp_path)
    assert runs.take(most_rows=5).to_seq["checkpoints"] == 1
    assert len(runs.facts()) == 60


def test_a_backlog_that_was_compacted_and_whose_old_files_are_gone_is_taken_as_before(
    lake: Lake, tmp_path: Path
) -> None:
    for first in range(0, 50, 10):
        commit(lake, first, 10)
    lake.compact("checkpoints")
    delta = lake.open_or_none(CYCLE_TABLES["checkpoints"])
    assert delta
    delta.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    runs = Runs(tmp_path)
    assert [runs.take(most_rows=25).to_seq["checkpoints"] for _ in range(2)] == [2, 4]
    assert runs.facts() == [("c0", number) for number in range(40)]


def test_all_tables_are_taken_up_to_the_same_instant(lake: Lake) -> None:
    for first in range(0, 30, 10):
        commit(lake, first, 10)
        lake.append([Observed("c0", NOON, "rest", (Job(JOB, "job", "RUNNING"),))])
    to = {table: lake.version(table) for table in CYCLE_TABLES}
    reached = slices.oldest(lake, {}, to, most_rows=22)
    assert (reached["checkpoints"], reached["jobs"]) == (2, 2)
    assert slices.oldest(lake, {}, to, most_rows=1_000) == to


class InParts(SmallInstance):
    """Each run some clusters at a time."""

    def _cycle_of(
        self, versions: dict[str, int], previous: Manifest | None, run_dir: RunFiles
    ) -> "Parts":
        return Parts(self.lake, versions, previous, run_dir)


@dataclass
class Parts:
    lake: LakeReader
    versions: dict[str, int]
    previous: Manifest | None
    run_dir: RunFiles

    @property
    def from_seq(self) -> dict[str, int]:
        return {
            table: self.previous.to_seq.get(table, 0) if self.previous else 0
            for table in CYCLE_TABLES
        }

    def steps(self) -> Iterator[tuple[str, int]]:
        found = list(
            cluster_groups(
                SmallLake(self.lake, self.versions, None), self.from_seq, self.previous, most_rows=1
            )
        )
        assert len(found) > 1
        for clusters in found:
            yield from SmallCycle(
                SmallLake(self.lake, self.versions, None, clusters), self.previous, self.run_dir
            ).steps()


@pytest.mark.long
def test_recordings_that_are_taken_cluster_by_cluster_leave_the_same_rows(tmp_path: Path) -> None:
    instances = [kind(None, tmp_path / kind.__name__) for kind in (SmallInstance, InParts)]
    for instance in instances:
        play_whole(instance)
        import_recording(RECORDINGS / NAMES[0], "again", instance.lake)
        instance.cycle()
    assert_same_rows(*instances)
