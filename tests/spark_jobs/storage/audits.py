"""Audits of recorded trees, run as the job runs them."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from ingest.lake.store import Lake
from ingest.storage.inventory import import_inventory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.storage.snapshots import Listed
from spark_jobs import audit_request
from spark_jobs import manifest as manifests
from spark_jobs.audit_locally import LocalEngine
from spark_jobs.audit_on_spark import SparkEngine
from spark_jobs.jobs.audit import JOB, AuditRun
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import RunFiles

_TIME = pa.timestamp("us", tz="UTC")
_ENDED = pa.list_(
    pa.struct([("checkpoint_id", pa.int64()), ("completed", pa.bool_()), ("discarded", pa.bool_())])
)
_TEXTS = ("cluster", "job_id", "name", "state", "restored_path", "last_completed_path")
_FLAGS = ("terminal", "seen", "restored_is_savepoint", "keeps_last")
_INSTANTS = ("restored_at", "last_completed_at", "in_flight_since")
JOBS_FILE = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.bool_()) for name in _FLAGS),
        *((name, _TIME) for name in _INSTANTS),
        ("last_completed_id", pa.int64()),
        ("checkpoints_ended", _ENDED),
    ]
)
"""Without the members of ``checkpoints_ended`` that a writer may leave out."""


@dataclass
class Audited:
    """What one run of audits left."""

    manifest: Manifest

    def rows(self, table: str, audit_id: str) -> list[dict[str, Any]]:
        files = self.manifest.tables[table].files
        rows = [
            row
            for file in files
            for row in pq.read_table(f"{self.manifest.run_dir}/{file}").to_pylist()
        ]
        return [row for row in rows if row["audit_id"] == audit_id]

    def paths(self, audit_id: str, verdict: str) -> set[str]:
        table = "storage_live" if verdict == "live" else "storage_file"
        return {row["path"] for row in self.rows(table, audit_id) if row["verdict"] == verdict}


@dataclass
class Auditor:
    """Audits the same roots again and again, each time carrying on from the time before."""

    folder: Path
    previous: Manifest | None = None
    besides: list[Manifest] = field(default_factory=list)
    """Audits that ``previous`` does not know of."""
    runs: int = 0
    spark: SparkSession | None = None
    """Audits are carried out with it, where it is given."""

    def audit(self, asked: Sequence[Mapping[str, Any]], *, fresh: bool = False) -> Audited:
        """``asked`` as in a request, ``listing`` left to be made (of ``inventory``, where a root
        names that file) and ``jobs`` as rows.
        """
        self.runs += 1
        run_dir = self.folder / f"run-{self.runs}"
        audits = tuple(
            audit_request.audit_of(json.loads(json.dumps(self.completed(one)))) for one in asked
        )
        running = RunFiles(str(run_dir))
        with (
            SparkEngine(self.spark, running.uri)
            if self.spark
            else nullcontext(LocalEngine()) as engine
        ):
            AuditRun(
                engine,
                Lake(str(self.folder / "lake")),
                running,
                audits,
                [*([self.previous] if self.previous else []), *self.besides],
                fresh=fresh,
            ).run()
        at = audits[0].as_of
        manifests.write(
            Manifest(JOB, f"run-{self.runs}", {}, {}, running.outputs, running.state, at, at),
            str(run_dir),
        )
        self.previous = manifests.read(f"{run_dir}/{manifests.NAME}")
        return Audited(self.previous)

    def completed(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        name = f"{asked['audit_id']}-{self.runs}"
        jobs = self.folder / f"jobs-{name}.parquet"
        pq.write_table(pa.Table.from_pylist(list(asked["jobs"]), schema=JOBS_FILE), jobs)
        roots = [dict(root) for root in asked["roots"]]
        for place, root in enumerate(roots):
            at = Root(root["uri"], root.get("read_at"))
            to = str(self.folder / f"listing-{name}-{place}")
            inventory = root.pop("inventory", None)
            listed = (
                import_inventory(inventory, at, to, asked["as_of"])
                if inventory
                else list_root(at, to, threads=2)
            )
            if copies := root.pop("copies", None):
                listed = inventoried(at, listed, copies, self.folder / f"inventory-{name}-{place}")
            root["listing"] = listed.directory
            root["unlisted"] = [
                {"subject": skip.subject, "reason": skip.reason, "detail": skip.detail}
                for skip in listed.unlisted
            ]
        as_of: datetime = asked["as_of"]
        return {**asked, "as_of": as_of.isoformat(), "roots": roots, "jobs": str(jobs)}


def inventoried(root: Root, listed: Listed, copies: Callable[[str], int], folder: Path) -> Listed:
    """The same files as ``hdfs oiv -p Delimited`` would give them, each kept ``copies(path)``
    times.
    """
    rows = [
        row
        for part in Path(listed.directory).glob("part-*")
        for row in pq.read_table(part).to_pylist()
    ]
    lines = [
        f"{row['path']}\t{copies(row['path'])}\t{row['modified'].isoformat()}\t{row['bytes']}"
        for row in rows
    ]
    folder.mkdir()
    (folder / "image.tsv").write_text(
        "\n".join(["Path\tReplication\tModificationTime\tFileSize", *lines]), encoding="utf-8"
    )
    return import_inventory(str(folder / "image.tsv"), root, str(folder / "listing"), listed.as_of)
