"""A collect cycle over a shard of clusters: everything that is new of each, one lake commit per table.

The caller keeps a cursor (plain JSON) per cluster and saves the new ones after this returned. Whatever
happens before that leaves the old cursors, and the same rows are read and folded again.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ingest.errors import IngestError
from ingest.flink_rest.address import parse_address
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.gate import Gates
from ingest.flink_rest.pace import Pace, shares
from ingest.lake.store import Lake
from ingest.records import Observed, Skip
from ingest.sources import ClusterSource

log = logging.getLogger(__name__)

SHARD_REQUESTS = 40_000
"""Of one cycle over all clusters of a shard: what one core asks, reads and writes in half a minute."""

CollectorCursor = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What a cycle did for one cluster; ``cursor`` is the next one, to be saved now.

    ``reachable`` is about the cluster's own REST endpoint (or History Server, where it has no other);
    ``error`` is one sentence. ``metrics_interval_s`` is how often healthy jobs are sampled at present,
    and ``pace_reason`` why.
    """

    cluster: str
    reachable: bool
    error: str | None
    cursor: CollectorCursor
    flink_version: str | None = None
    jobs_seen: int = 0
    requests: int = 0
    records: int = 0
    skips: int = 0
    metrics_interval_s: float | None = None
    pace_reason: str = ""


def collect_shard(
    sources: Sequence[ClusterSource],
    cursors: Mapping[str, CollectorCursor],
    lake: Lake,
    *,
    at: Callable[[], datetime] = lambda: datetime.now(UTC),
    cycle_s: float = 30,
    total_requests: int = SHARD_REQUESTS,
    pace: Pace | None = None,
) -> list[ClusterOutcome]:
    """Outcomes in the order of ``sources``. ``cursors`` is by cluster name; ``cycle_s`` is how often this is called.

    One cluster's failure is its own outcome. Raises only where the lake cannot be written.
    """
    share = shares(total_requests, len(sources), pace or Pace())
    gathered = asyncio.run(_gather(sources, cursors, at, cycle_s, share))
    lake.append(observed for _, parts in gathered for observed in parts)
    return [outcome for outcome, _ in gathered]


async def _gather(
    sources: Sequence[ClusterSource],
    cursors: Mapping[str, CollectorCursor],
    at: Callable[[], datetime],
    cycle_s: float,
    pace: Pace,
) -> list[tuple[ClusterOutcome, tuple[Observed, ...]]]:
    gates = Gates()
    return list(await asyncio.gather(*(_one(source, cursors.get(source.name) or {}, at, cycle_s, pace, gates) for source in sources)))


async def _one(
    source: ClusterSource, cursor: CollectorCursor, at: Callable[[], datetime], cycle_s: float, pace: Pace, gates: Gates
) -> tuple[ClusterOutcome, tuple[Observed, ...]]:
    try:
        gate = gates.of(parse_address(source.url, None).origin)
        collected = await collect_cluster(source, _part(cursor, "rest"), at, pace=pace, gate=gate, cycle_s=cycle_s)
    except IngestError as error:
        return _failed(source, cursor, at(), str(error))
    except Exception as error:
        log.exception("cluster %s could not be collected", source.name)
        return _failed(source, cursor, at(), f"Collecting failed with {type(error).__name__}; see the log of the collecting process.")
    return _outcome(source, cursor, collected)


def _outcome(source: ClusterSource, cursor: CollectorCursor, collected: Collected) -> tuple[ClusterOutcome, tuple[Observed, ...]]:
    outcome = ClusterOutcome(
        cluster=source.name,
        reachable=collected.reachable,
        error=collected.error,
        cursor={**cursor, "rest": collected.cursor},
        flink_version=collected.flink_version,
        jobs_seen=collected.jobs_seen,
        requests=collected.requests,
        records=sum(len(part.records) for part in collected.observed),
        skips=len(collected.skips),
        metrics_interval_s=collected.metrics_interval_s,
        pace_reason=collected.pace_reason,
    )
    return outcome, collected.observed


def _failed(source: ClusterSource, cursor: CollectorCursor, at: datetime, error: str) -> tuple[ClusterOutcome, tuple[Observed, ...]]:
    skip = Skip(f"cluster {source.name}", "unreachable", error)
    outcome = ClusterOutcome(source.name, reachable=False, error=error, cursor=cursor, records=1, skips=1)
    return outcome, (Observed(source.name, at, "rest", (skip,)),)


def _part(cursor: CollectorCursor, name: str) -> dict[str, Any]:
    part = cursor.get(name)
    return part if isinstance(part, dict) else {}
