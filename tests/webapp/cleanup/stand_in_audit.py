"""Keeps the contract of the job ``audit`` without a JVM: the plain reckoning of a world over what
really lies there.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs import manifest as manifests
from spark_jobs.audit_tables import AUDIT_TABLES
from spark_jobs.serving import ServingTable
from tests.webapp.cleanup.worlds import World

_TYPES = {
    "text": pa.string(),
    "int": pa.int64(),
    "flag": pa.bool_(),
    "instant": pa.timestamp("ms", tz="UTC"),
    "json": pa.string(),
    "message": pa.string(),
}
_ZERO = {"int": 0, "flag": False, "json": "[]", "text": ""}


def run_job(words: Sequence[str]) -> int:
    arguments = dict(zip(words[1:-1:2], words[2::2], strict=False))
    run_dir, name = Path(arguments["--run-dir"]), arguments["--attempt"]
    (asked,) = json.loads(Path(arguments["--request"]).read_text())["audits"]
    (root,) = asked["roots"]
    world = World(Path(root["uri"].removeprefix("file:")))
    at = datetime.fromisoformat(asked["as_of"])
    found = world.audit(run_dir / "found", at)
    rows = pq.read_table(found.verdict_files).to_pylist()
    tables = {
        "storage_file": _written(
            run_dir, "storage_file", [row | {"audit_id": name} for row in rows]
        ),
        "storage_reference": _written(
            run_dir,
            "storage_reference",
            [row | {"audit_id": name} for row in pq.read_table(found.reference_files).to_pylist()],
        ),
    }
    for table in AUDIT_TABLES.values():
        told = (
            [_row(table, audit_id=name, root=world.uri, as_of=at, cleanable=root["attested"])]
            if table.name == "storage_root"
            else []
        )
        tables[table.name] = _written(run_dir, table.name, told, _schema(table))
    manifests.write(manifests.Manifest("audit", name, {}, {}, tables, {}, at, at), str(run_dir))
    return 0


def _row(table: ServingTable, **told: Any) -> dict[str, Any]:
    return {column.name: told.get(column.name, _ZERO.get(column.kind)) for column in table.columns}


def _schema(table: ServingTable) -> pa.Schema:
    return pa.schema([(column.name, _TYPES[column.kind]) for column in table.columns])


def _written(
    run_dir: Path, name: str, rows: list[dict[str, Any]], schema: pa.Schema | None = None
) -> manifests.Output:
    path = run_dir / name / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    return manifests.Output(len(rows), (str(path.relative_to(run_dir)),))
