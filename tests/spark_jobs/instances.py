"""A lake, the runs of the cycle over it, and what a loader makes of them; recordings that come at
once and bit by bit.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from ingest.lake import derived_commits
from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake
from ingest.metadata.evidence import rows_of as rows_of_file
from ingest.metadata.files import MetadataFile
from ingest.recordings.importer import import_recording
from ingest.records import LogRecord, Observed
from spark_jobs import manifest as manifests
from spark_jobs.jobs.recompute import Recompute
from spark_jobs.lake import pin
from spark_jobs.manifest import Manifest, Output
from spark_jobs.run_files import RunFiles
from spark_jobs.run_rows import retracted_of, rows_of
from spark_jobs.serving import SERVING_TABLES
from spark_jobs.small.cycle import SmallCycle
from spark_jobs.small.rows import SmallLake
from tests.acceptance.homes import split
from tests.spark_jobs.rows import JOB, noon

RECORDINGS = Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
NAMES = ("1.12.5/G", "1.20.5/E", "1.20.5/F", "1.20.5/H", "1.20.5/I", "1.20.5/J")

PIECES, UPLOAD = "1.20.5/F", "1.12.5/G"
"""What comes in pieces, and what has files of which first one side is known, then the other."""

TRIGGERED = (
    f"0 Triggering checkpoint 7 (type=CHECKPOINT) @ {round(noon().timestamp() * 1000)} for "
    f"job {JOB}."
)
DECLINED = f"3 Decline checkpoint 7 by task {'e' * 32} of job {JOB} at tm-1 @ host-1 (dataPort=1)."
DEPLOYED = (
    f"-9 Deploying enrich (2/4) (attempt #0) with attempt id {'e' * 32} to tm-1 @ host-1 "
    f"(dataPort=1) with allocation id {JOB}"
)

ROWS_AT_ONCE = 1000

Rows = dict[tuple[Any, ...], dict[str, Any]]


@dataclass
class Instance:
    """A lake, its runs, and what a loader makes of them."""

    spark: SparkSession | None
    root: Path
    manifests: list[Manifest] = field(default_factory=list)

    @property
    def lake(self) -> Lake:
        return Lake(str(self.root / "lake"))

    def cycle(self) -> Manifest:
        previous = self.manifests[-1] if self.manifests else None
        run_dir = RunFiles(str(self.root / f"run-{len(self.manifests)}"))
        versions = {table: self.lake.version(table) for table in CYCLE_TABLES}
        cycle = self._cycle_of(versions, previous, run_dir)
        list(cycle.steps())
        tables = {name: run_dir.outputs.get(name, Output(0)) for name in SERVING_TABLES}
        at = datetime.now(UTC)
        tag = f"a-{len(self.manifests)}"
        manifest = Manifest(
            "cycle", tag, cycle.from_seq, versions, tables, run_dir.state, at, at, run_dir.retracted
        )
        self.manifests.append(manifests.read(manifests.write(manifest, run_dir.uri)))
        return self.manifests[-1]

    def _cycle_of(
        self, versions: dict[str, int], previous: Manifest | None, run_dir: RunFiles
    ) -> Recompute | SmallCycle:
        assert self.spark is not None
        return Recompute(pin(self.spark, self.lake, versions), previous, run_dir)

    def rows(self, table: str, runs: int | None = None) -> Rows:
        """Rows as the database holds them after the first ``runs`` (default: all): by key, settled
        and newer ones protected.
        """
        declared, kept = SERVING_TABLES[table], {}
        for manifest in self.manifests[:runs]:
            for row in _told(retracted_of(manifest, table, declared.key, ROWS_AT_ONCE)):
                kept.pop(tuple(row.values()), None)
            if table == "finding_occurrence":
                kept = _without_judged_again(kept, manifest)
            if table == "host_event":
                told = {
                    (row["cluster"], row["job_id"], row["checkpoint_id"])
                    for row in _rows(manifest, "checkpoint_fact")
                }
                kept = {
                    key: row
                    for key, row in kept.items()
                    if (row["cluster"], row["job_id"], row["checkpoint_id"]) not in told
                }
            for row in _told(rows_of(manifest, table, declared.column_names, ROWS_AT_ONCE)):
                key = tuple(row[name] for name in declared.key)
                old = kept.get(key)
                settled = (
                    (row[declared.final], old[declared.final])
                    if declared.final and old
                    else (True, True)
                )
                if (
                    old is None
                    or settled == (True, False)
                    or (settled[0] == settled[1] and row["as_of"] >= old["as_of"])
                ):
                    kept[key] = row
        return kept


def _without_judged_again(occurrences: Rows, manifest: Manifest) -> Rows:
    """A verdict takes the place of all that was said of its minute before."""
    judged: set[tuple[str, str, datetime]] = set()
    for row in _rows(manifest, "job_judgement"):
        for run in json.loads(row["windows"]):
            starts = range(run["first"], run["last"] + 1, 60)
            judged.update(
                (row["cluster"], row["job_id"], datetime.fromtimestamp(start, UTC))
                for start in starts
            )
    return {
        key: row
        for key, row in occurrences.items()
        if (row["cluster"], row["job_id"], row["window_start"]) not in judged
    }


def _rows(manifest: Manifest, table: str) -> Iterator[dict[str, Any]]:
    return _told(rows_of(manifest, table, SERVING_TABLES[table].column_names, ROWS_AT_ONCE))


def _told(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


class SmallInstance(Instance):
    """The same in one process, without Spark."""

    def _cycle_of(
        self, versions: dict[str, int], previous: Manifest | None, run_dir: RunFiles
    ) -> SmallCycle:
        return SmallCycle(SmallLake(self.lake, versions, most_rows=10**9), previous, run_dir)


def assert_same_rows(one: Instance, other: Instance) -> None:
    """Run for run."""
    assert one.manifests
    for run in range(1, len(one.manifests) + 1):
        for table in SERVING_TABLES:
            assert other.rows(table, run) == one.rows(table, run), (run, table)


def play_whole(instance: Instance) -> None:
    """All of ``NAMES`` in one run."""
    for name in NAMES:
        import_recording(RECORDINGS / name, name, instance.lake)
    instance.cycle()


def play_in_pieces(instance: Instance, folder: Path) -> None:
    """Five runs: what belongs together comes bit by bit, some of it read by Spark, then nothing
    comes, then only a compaction.
    """
    bare = folder / "bare"
    if not folder.exists():
        split(RECORDINGS / PIECES, folder / "early", folder / "late")
        shutil.copytree(
            RECORDINGS / UPLOAD, bare, ignore=shutil.ignore_patterns("ckpt", "sp", "listing*")
        )

    import_recording(folder / "late", PIECES, instance.lake)
    import_recording(bare, UPLOAD, instance.lake)
    instance.lake.append(
        [
            jobmanager_log("late-trigger", DECLINED),
            jobmanager_log("late-deploy", TRIGGERED, DECLINED),
        ]
    )
    instance.cycle()
    for piece in (folder / "early", RECORDINGS / PIECES):
        import_recording(piece, PIECES, instance.lake)
    instance.lake.append([parsed(RECORDINGS / UPLOAD, 6)])
    derived_commits.append(instance.lake, [jobmanager_log("late-trigger", TRIGGERED)])
    instance.lake.append([jobmanager_log("late-deploy", DEPLOYED)])
    instance.cycle()
    derived_commits.append(instance.lake, [parsed(RECORDINGS / UPLOAD, 8)])
    instance.cycle()
    instance.cycle()
    for table in CYCLE_TABLES:
        instance.lake.compact(table)
    assert instance.lake.version("log_records") > instance.manifests[-1].to_seq["log_records"]
    instance.cycle()


def parsed(recording: Path, number: int) -> Observed:
    """One checkpoint's ``_metadata`` as the collector reads it, while the job still ran."""
    (path,) = recording.glob(f"ckpt/*/chk-{number}/_metadata")
    written = f"file:/opt/l/lab/run/1.12.5-G/{path.relative_to(recording).as_posix()}"
    file = MetadataFile(written, path.stat().st_size, None, read_at=str(path))
    return Observed(
        "1.12.5/G",
        datetime(2026, 11, 21, 4, 19, 30 + number, tzinfo=UTC),
        "metadata",
        tuple(rows_of_file(file, 1 << 20)),
    )


def jobmanager_log(cluster: str, *lines: str) -> Observed:
    """A JobManager's log of these lines, each with its second."""
    records = [
        LogRecord(
            "jm.log", noon(second), "INFO", "CC", message, f"{second:032x}", 0, "jm.log", second
        )
        for second, message in (
            (int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines
        )
    ]
    return Observed(cluster, noon(3600), "log", tuple(records))
