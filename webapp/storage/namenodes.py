"""Load and calls per second of NameNodes over some minutes, from their JMX."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest.messages import message
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from webapp.fleet.models import Cluster
from webapp.lib.instants import epoch_ms
from webapp.work.lake import read_newest

log = logging.getLogger(__name__)

TABLE = "namenode_samples"
MOST_SAMPLES = 20_000
MOST_KINDS = 30
UNREADABLE = message("The lake could not be read; the server's log has the reason.")
SLOW_QUEUE_MS = 100
"""A call usually waits for one or two milliseconds; writers feel a tenth of a second."""
Row = Mapping[str, Any]
_SHARED = (
    "ha_state",
    "call_queue_length",
    "files",
    "blocks",
    "heap_used_bytes",
    "heap_max_bytes",
)
_COLUMNS = (
    "cluster",
    "ts",
    "rpc_calls",
    "rpc_queue_ms",
    "rpc_processing_ms",
    "operations",
    *_SHARED,
)


@dataclass(frozen=True)
class NameNode:
    """The NameNode that one cluster declares: figures of the newest sample ``at``, and
    ``most_queue_ms`` of all samples. ``per_s``: calls per second between the first and the last
    sample, None if there is only one or after a restart; ``kinds``: calls per second by kind.
    """

    cluster: str
    at: datetime
    ha_state: str | None
    queue_ms: float | None
    most_queue_ms: float | None
    processing_ms: float | None
    call_queue_length: int | None
    files: int | None
    blocks: int | None
    heap_used_bytes: int | None
    heap_max_bytes: int | None
    per_s: float | None
    kinds: Mapping[str, float]

    @property
    def is_slow(self) -> bool:
        return self.most_queue_ms is not None and self.most_queue_ms >= SLOW_QUEUE_MS


@dataclass(frozen=True)
class NameNodes:
    """``silent``: clusters whose NameNode has no sample in the requested time. ``why``: why nothing
    could be read, or "".
    """

    known: Sequence[NameNode] = ()
    silent: Sequence[str] = ()
    why: str = ""


def namenodes_in(start: datetime, seconds: int) -> NameNodes:
    declared = declaring_clusters()
    if not declared:
        return NameNodes()
    try:
        by_cluster = samples_of(declared, start, start + timedelta(seconds=seconds))
    except Exception:  # The lake may be any storage, with any error.
        log.exception("Samples of NameNodes could not be read from the lake")
        return NameNodes(silent=declared, why=UNREADABLE)
    known = [_namenode(name, rows) for name, rows in sorted(by_cluster.items())]
    return NameNodes(known, [name for name in declared if name not in by_cluster])


def declaring_clusters() -> list[str]:
    """Names of the clusters that declare a NameNode."""
    return sorted(Cluster.objects.exclude(namenode_jmx_url="").values_list("name", flat=True))


def samples_of(clusters: Sequence[str], start: datetime, end: datetime) -> dict[str, list[Row]]:
    """Cluster → samples, oldest first. Raises the errors of the lake's storage."""
    table, _since = read_newest(TABLE, {}, start, end, _COLUMNS, MOST_SAMPLES)
    by_cluster: dict[str, dict[datetime, Row]] = {}
    for row in table.to_pylist():
        # The lake prunes whole files, so rows outside of the range remain.
        if start <= row["ts"] < end and row["cluster"] in clusters:
            by_cluster.setdefault(row["cluster"], {})[row["ts"]] = row
    return {name: [rows[ts] for ts in sorted(rows)] for name, rows in by_cluster.items()}


def readings_of(cluster: str, rows: Sequence[Row]) -> NameNodeReadings:
    """The input of rules from ``rows``, oldest first."""
    newest = _namenode(cluster, rows)
    waits = tuple(row["rpc_queue_ms"] for row in rows if row["rpc_queue_ms"] is not None)
    return NameNodeReadings(
        cluster,
        epoch_ms(newest.at),
        waits,
        newest.processing_ms,
        newest.call_queue_length,
        newest.per_s,
        newest.kinds,
    )


def _namenode(cluster: str, rows: Sequence[Row]) -> NameNode:
    first, last = rows[0], rows[-1]
    duration_s = (last["ts"] - first["ts"]).total_seconds()
    before, after = _counts(first), _counts(last)
    per_s = _rate(first["rpc_calls"], last["rpc_calls"], duration_s)
    rates: dict[str, float] = {}
    if per_s is not None:
        for name, count in after.items():
            if rate := _rate(before.get(name, 0), count, duration_s):
                rates[name] = rate
    kinds = sorted(rates.items(), key=lambda pair: (-pair[1], pair[0]))
    waits = [row["rpc_queue_ms"] for row in rows if row["rpc_queue_ms"] is not None]
    return NameNode(
        cluster,
        last["ts"],
        queue_ms=last["rpc_queue_ms"],
        most_queue_ms=max(waits, default=None),
        processing_ms=last["rpc_processing_ms"],
        per_s=per_s,
        kinds=dict(kinds[:MOST_KINDS]),
        **{name: last[name] for name in _SHARED},
    )


def _counts(row: Row) -> dict[str, int]:
    return {operation["name"]: operation["calls"] for operation in row["operations"] or ()}


def _rate(before: int | None, after: int | None, duration_s: float) -> float | None:
    # A counter that fell was reset to zero: how many calls came before is unknown.
    if before is None or after is None or duration_s <= 0 or after < before:
        return None
    return (after - before) / duration_s
