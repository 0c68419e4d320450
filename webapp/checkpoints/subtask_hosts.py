"""The host of each subtask when a checkpoint was triggered, by the last sample before."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from webapp.work.lake import read_newest

MOST_ROWS = 2_000
LOOK_BACK = timedelta(minutes=15)
_COLUMNS = ("vertex_id", "ts", "host")

Place = tuple[str, int]
"""Vertex and subtask."""


def read_hosts(cluster: str, job_id: str, trigger_time: datetime) -> dict[Place, str]:
    """Hosts by subtask; empty without samples. Raises the storage's errors."""
    where = {"cluster": cluster, "job_id": job_id}
    rows, _since = read_newest(
        "vertex_metrics", where, trigger_time - LOOK_BACK, trigger_time, _COLUMNS, MOST_ROWS
    )
    return hosts_of(rows.to_pylist())


def hosts_of(rows: Iterable[Mapping[str, Any]]) -> dict[Place, str]:
    """Hosts by the newest sample of each vertex that has hosts."""
    newest: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["host"] and (
            row["vertex_id"] not in newest or row["ts"] > newest[row["vertex_id"]]["ts"]
        ):
            newest[row["vertex_id"]] = row
    return {
        (row["vertex_id"], subtask): host
        for row in newest.values()
        for subtask, host in enumerate(row["host"])
        if host
    }
