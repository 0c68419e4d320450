"""Complete Spark runs written by hand, as the contract of files describes them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.serving import SERVING_TABLES

AT = datetime(2025, 3, 1, 12, tzinfo=UTC)
ARROW = {
    "text": pa.string(), "int": pa.int64(), "real": pa.float64(), "flag": pa.bool_(),
    "instant": pa.timestamp("us", tz="UTC"), "json": pa.string(),
}  # fmt: skip
FILLED = {
    "text": "x",
    "int": 1,
    "real": 0.5,
    "flag": True,
    "instant": AT,
    "json": "{}",
    "message": '{"template":"x","values":{}}',
    "messages": "{}",
}


def row(table: str, **values: Any) -> dict[str, Any]:
    """A row of a serving table: required columns filled, the others null unless given."""
    columns = SERVING_TABLES[table].columns
    assert set(values) <= {column.name for column in columns}
    return {
        column.name: values.get(column.name, FILLED[column.kind] if column.required else None)
        for column in columns
    }


def fact(checkpoint_id: int, **values: Any) -> dict[str, Any]:
    given = {
        "cluster": "c",
        "job_id": "a" * 32,
        "checkpoint_id": checkpoint_id,
        "trigger_time": AT,
        "outcome": "completed",
        "final": True,
    }
    return row("checkpoint_fact", **{**given, **values})


def job(job_id: str = "a" * 32, **values: Any) -> dict[str, Any]:
    return row(
        "job_current",
        **{
            "cluster": "c",
            "job_id": job_id,
            "state": "RUNNING",
            "terminal": False,
            "last_seen_at": AT,
            **values,
        },
    )


def write_run(
    run_dir: Path,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    to: Mapping[str, int],
    from_: Mapping[str, int] | None = None,
    attempt: str | None = None,
    rows_said: int | None = None,
    retracted: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    state: Mapping[str, Sequence[int]] | None = None,
) -> str:
    """Write the tables and the manifest; returns its path."""
    outputs = {}
    for name, rows in tables.items():
        schema = pa.schema(
            [(column.name, ARROW[column.kind]) for column in SERVING_TABLES[name].columns]
        )
        folder = run_dir / "tables" / name
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), folder / "part-0.parquet")
        outputs[name] = {
            "rows": len(rows) if rows_said is None else rows_said,
            "files": [f"tables/{name}/part-0.parquet"],
        }
    gone = {}
    for name, keys in (retracted or {}).items():
        schema = pa.schema(
            [
                (column.name, ARROW[column.kind])
                for column in SERVING_TABLES[name].columns
                if column.name in SERVING_TABLES[name].key
            ]
        )
        (run_dir / "retracted").mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.Table.from_pylist(list(keys), schema=schema),
            run_dir / "retracted" / f"{name}.parquet",
        )
        gone[name] = {"rows": len(keys), "files": [f"retracted/{name}.parquet"]}
    for name, ids in (state or {}).items():
        (run_dir / "state").mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.table({"id": list(ids)}),
            run_dir / "state" / f"{name}.parquet",
            write_page_checksum=True,
        )
    run_dir.mkdir(parents=True, exist_ok=True)
    manifest = {
        "format": 1,
        "job": "cycle",
        "attempt": attempt or run_dir.name,
        "from": dict(from_ or {}),
        "to": dict(to),
        "tables": outputs,
        "retracted": gone,
        "state": {name: [f"state/{name}.parquet"] for name in state or {}},
        "started_at": AT.isoformat(),
        "finished_at": AT.isoformat(),
    }
    path = run_dir / "manifest.json"
    path.write_text(json.dumps(manifest))
    return str(path)
