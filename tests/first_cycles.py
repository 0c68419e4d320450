"""What the first cycle over a recording serves, run in the process of a test."""

import atexit
import functools
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from ingest.lake.derived import CYCLE_TABLES
from ingest.lake.store import Lake
from ingest.messages import as_message
from ingest.recordings.importer import import_recording
from spark_jobs import manifest as manifests
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles
from spark_jobs.run_rows import rows_of
from spark_jobs.serving import ServingTable
from spark_jobs.small.cycle import SmallCycle
from spark_jobs.small.rows import SmallLake

CLUSTER = "lab"
FIXTURES = Path(__file__).parent / "fixtures"
LAKE, RUN = "lake", "run"


def served(recording: Path, home: Path, table: ServingTable) -> list[dict[str, Any]]:
    """Its rows of one table, documents as values; the lake is left at ``home/lake``."""
    return served_tables(recording, home, table)[0]


def served_tables(recording: Path, home: Path, *tables: ServingTable) -> list[list[dict[str, Any]]]:
    if not recording.is_relative_to(FIXTURES) or (home / LAKE).exists():
        return _first_cycle(recording, home, *tables)
    before, shared = _shared(recording)
    for name in (LAKE, RUN):
        shutil.copytree(before / name, home / name)
    return [_rows(shared, table) for table in tables]


@functools.cache
def _shared(recording: Path) -> tuple[Path, Manifest]:
    """A recording of the fixtures is read and judged once in this process: to copy what that leaves
    takes a hundredth of the time.
    """
    folder = Path(mkdtemp(prefix="weir-first-cycle-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _first_cycle(recording, folder)
    return folder, manifests.read(str(folder / RUN / "manifest.json"))


def _first_cycle(recording: Path, home: Path, *tables: ServingTable) -> list[list[dict[str, Any]]]:
    lake = Lake(str(home / LAKE))
    import_recording(recording, CLUSTER, lake)
    return cycled(lake, home, *tables)


def cycled(lake: Lake, home: Path, *tables: ServingTable) -> list[list[dict[str, Any]]]:
    """The same of what a lake holds; the run is left at ``home/run``."""
    versions = {name: lake.version(name) for name in CYCLE_TABLES}
    run_dir = RunFiles(str(home / RUN))
    cycle = SmallCycle(SmallLake(lake, versions, most_rows=1_000_000), None, run_dir)
    list(cycle.steps())
    at = datetime.now(UTC)
    left = Manifest(
        "cycle",
        "first",
        cycle.from_seq,
        versions,
        run_dir.outputs,
        run_dir.state,
        at,
        at,
        run_dir.retracted,
    )
    manifest = manifests.read(manifests.write(left, run_dir.uri))
    return [_rows(manifest, table) for table in tables]


def _rows(manifest: Manifest, table: ServingTable) -> list[dict[str, Any]]:
    rows = [
        row
        for batch in rows_of(manifest, table.name, table.column_names, 1000)
        for row in batch.to_pylist()
    ]
    documents = [
        column.name for column in table.columns if column.kind in ("json", "message", "messages")
    ]
    return [
        row
        | {
            name: json.loads(row[name], object_hook=as_message)
            for name in documents
            if isinstance(row[name], str)
        }
        for row in rows
    ]
