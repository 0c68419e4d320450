"""A warm audit of some 200 files, as `make run` does one: three recorded roots (chains, waste,
orphans, missing and merged files).

Each audit carries on from the one before and finds one ``_metadata`` that it has not read yet. CPU
is that of all processes: the Connect server, its Python workers, and the client that each audit
starts.
"""

import json
import os
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.storage.listing import list_root
from tests.bench.harness import Report
from tests.bench.process_cpu import cpu_s
from tests.spark_jobs.storage.audits import JOBS_FILE
from tests.spark_jobs.storage.recorded_jobs import recorded_jobs
from tests.spark_processes import connect_server, run_job
from tests.storage_trees import RecordedTree, lay_out

RECORDED = ("1.20.5-H", "1.20.5-I", "1.20.5-K")
WARMING, COUNTED = 1, 5
WALL_S = 5.0
AGED_S = timedelta(days=20).total_seconds()


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = [_aged(lay_out(tree, folder / tree)) for tree in RECORDED]
        with connect_server(folder / "spark") as remote:
            figures = [
                _audit(trees, folder, number, remote) for number in range(1 + WARMING + COUNTED)
            ]
        verdicts = _verdicts(folder / f"run-{WARMING + COUNTED}")
    assert verdicts.keys() >= {"live", "retained_waste", "orphan"}, verdicts
    counted = sorted(figures[1 + WARMING :])
    wall_s = counted[len(counted) // 2][0]
    used_s = sorted(cpu for _, cpu in counted)[len(counted) // 2]
    files = sum(verdicts.values())
    report(f"first audit of {files} files", figures[0][0], "s")
    report(f"warm audit of {files} files, wall, median", wall_s, "s", baseline=WALL_S, budget=1)
    report(f"warm audit of {files} files, CPU of all processes, median", used_s, "s")


def _aged(tree: RecordedTree) -> RecordedTree:
    """The same files, written earlier: no audit may be of a time to come."""
    files = tuple(file._replace(modified=file.modified - AGED_S) for file in tree.files)
    for file in files:
        os.utime(tree.directory / file.path, (file.modified, file.modified))
    return replace(tree, files=files)


def _audit(
    trees: list[RecordedTree], folder: Path, number: int, remote: str
) -> tuple[float, float]:
    """Wall and CPU seconds of the ``number``-th audit; its listings are made before."""
    as_of = max(tree.newest for tree in trees) + timedelta(
        days=4 * min(number, 1), hours=number + 1
    )
    newest = max(trees[0].metadata(), key=lambda file: file.modified or as_of)
    os.utime(newest.read_at or "", (written := (as_of - timedelta(minutes=1)).timestamp(), written))
    rows = [row for tree in trees for row in recorded_jobs(tree)]
    pq.write_table(pa.Table.from_pylist(rows, schema=JOBS_FILE), folder / f"jobs-{number}.parquet")
    roots = [
        {
            "uri": tree.root.uri,
            "read_at": tree.root.read_at,
            "clusters": ["lab"],
            "attested": True,
            "listing": list_root(
                tree.root, str(folder / f"listing-{number}-{place}"), threads=2
            ).directory,
        }
        for place, tree in enumerate(trees)
    ]
    request = folder / f"request-{number}.json"
    asked = {
        "audit_id": str(number),
        "as_of": as_of.isoformat(),
        "roots": roots,
        "jobs": str(folder / f"jobs-{number}.parquet"),
    }
    request.write_text(json.dumps({"audits": [asked]}))
    previous = ["--previous", str(folder / f"run-{number - 1}" / "manifest.json")] if number else []
    before_s, started = cpu_s(folder), time.monotonic()
    client = run_job(
        "audit",
        folder / "lake",
        folder / f"run-{number}",
        f"a-{number}",
        {"SPARK_REMOTE": remote},
        "--request",
        str(request),
        *previous,
    )
    said = client.stdout.read() if client.stdout else ""
    assert client.wait() == 0, said
    return time.monotonic() - started, cpu_s(folder) - before_s


def _verdicts(run_dir: Path) -> dict[str, int]:
    counted: dict[str, int] = {}
    for file in (run_dir / "tables" / "storage_verdict").glob("*.parquet"):
        for row in pq.read_table(file).to_pylist():
            counted[row["verdict"]] = counted.get(row["verdict"], 0) + row["files"]
    return counted
