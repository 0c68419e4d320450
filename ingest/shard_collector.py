"""A collect cycle over a shard of clusters: everything that is new of each, one lake commit per table.

The caller keeps a cursor (plain JSON) per cluster and saves the new ones after this returned. Whatever
happens before that leaves the old cursors, and the same rows are read and folded again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ingest.errors import IngestError
from ingest.flink_logs import endpoint, tail
from ingest.flink_logs.endpoint import Transfer
from ingest.flink_rest import flame_graphs
from ingest.flink_rest.address import parse_address
from ingest.flink_rest.client import client_of
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.gate import Gates
from ingest.flink_rest.history_server import read_history
from ingest.flink_rest.limits import RequestLimits, limits_per_cluster
from ingest.history.archives import read_archives
from ingest.lake.store import Lake
from ingest.metadata.evidence import SOURCE as EVIDENCE
from ingest.metadata.evidence import Reach, read_evidence
from ingest.records import Observed, Skip
from ingest.sources import ClusterSource

log = logging.getLogger(__name__)

SHARD_REQUESTS = 40_000
"""Of one cycle over all clusters of a shard: what one core asks, reads and writes in half a minute."""

SHARD_LOG_BYTES = 512 * 1024 * 1024
"""Of log files, tailed one cluster after the other at 30 MB/s and more."""

LEAST_LOG_BYTES = 4 * 1024 * 1024

SHARD_ENDPOINT_BYTES = 256 * 1024 * 1024
"""Of whole log files over REST."""

LOG_ENDPOINT_TIMEOUT_S = 45.0
"""Of one cluster: 256 KiB a second are asked for on average, so this is generous, and nobody else waits longer."""

NO_ENDPOINT_AGAIN_AFTER_S = 900
"""A JobManager that writes no log file is not asked for one every minute."""

CollectorCursor = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """What a cycle did for one cluster; ``cursor`` is the next one, to be saved now.

    ``reachable`` is about the cluster's own REST endpoint (or History Server, where it has no other);
    ``error`` is one sentence. ``metrics_interval_s`` is how often healthy jobs are sampled at present,
    and ``sampling_reason`` why.
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
    sampling_reason: str = ""
    flame_graphs: tuple[FlameGraphAnswer, ...] = ()


def collect_shard(
    sources: Sequence[ClusterSource],
    cursors: Mapping[str, CollectorCursor],
    lake: Lake,
    *,
    at: Callable[[], datetime] = lambda: datetime.now(UTC),
    cycle_s: float = 30,
    total_requests: int = SHARD_REQUESTS,
    limits: RequestLimits | None = None,
) -> list[ClusterOutcome]:
    """Outcomes in the order of ``sources``. ``cursors`` is by cluster name; ``cycle_s`` is how often this is called.

    One cluster's failure is its own outcome. Raises only where the lake cannot be written.
    """
    readings = [ClusterRun(source, dict(cursors.get(source.name) or {})) for source in sources]
    asyncio.run(_ask(readings, at, cycle_s, limits_per_cluster(total_requests, len(sources), limits or RequestLimits())))
    for reading in readings:
        _read_archives(reading, at())
        _tail(reading, at(), SHARD_LOG_BYTES // max(1, len(sources)))
    reach = Reach()
    for reading in readings:
        _read_metadata(reading, at(), reach)
    lake.append(observed for reading in readings for observed in reading.observed)
    return [_outcome(reading) for reading in readings]


@dataclass(slots=True)
class ClusterRun:
    """One cluster in the course of a cycle; ``cursor`` has a part for each kind of source."""

    source: ClusterSource
    cursor: CollectorCursor
    observed: list[Observed] = field(default_factory=list)
    rest: Collected | None = None
    reachable: bool = True
    error: str | None = None
    requests: int = 0
    history_jobs: int = 0
    flame_graphs: tuple[FlameGraphAnswer, ...] = ()

    def part(self, name: str) -> dict[str, Any]:
        """What is remembered of one kind of source."""
        part = self.cursor.get(name)
        return part if isinstance(part, dict) else {}

    def skip(self, subject: str, reason: str, detail: str, at: datetime, source: str = "rest") -> None:
        """Note one input that was passed over."""
        self.observed.append(Observed(self.source.name, at, source, (Skip(subject, reason, detail),)))


async def _ask(readings: Sequence[ClusterRun], at: Callable[[], datetime], cycle_s: float, limits: RequestLimits) -> None:
    gates = Gates()
    await asyncio.gather(*(_guarded(_read_rest, reading, at, gates, cycle_s, limits) for reading in readings if reading.source.url))
    await asyncio.gather(*(_guarded(_read_history, reading, at, gates) for reading in readings if reading.source.history_url))
    wanting = [reading for reading in readings if reading.source.flame_graphs and reading.rest and reading.reachable]
    await asyncio.gather(*(_guarded(_read_flame_graphs, reading, at, gates) for reading in wanting))
    # Clusters that waited longest for a share of the bytes come first.
    with_endpoint = [reading for reading in readings if reading.rest and reading.reachable and _follows_endpoint(reading.source)]
    with_endpoint.sort(key=lambda reading: reading.part("log_endpoint").get("due_at", 0))
    transfer = Transfer(SHARD_ENDPOINT_BYTES)
    await asyncio.gather(*(_guarded(_read_log_endpoint, reading, at, gates, transfer) for reading in with_endpoint))


async def _guarded(read: Callable[..., Awaitable[None]], reading: ClusterRun, at: Callable[[], datetime], *more: Any) -> None:
    """One cluster's failure, even an unexpected one, is that cluster's alone."""
    try:
        await read(reading, at, *more)
    except IngestError as error:
        _fail(reading, str(error), at())
    except Exception as error:
        log.exception("cluster %s could not be collected", reading.source.name)
        _fail(reading, f"Collecting failed with {type(error).__name__}; see the log of the collecting process.", at())


def _fail(reading: ClusterRun, error: str, at: datetime) -> None:
    reading.reachable = reading.reachable and reading.rest is not None
    reading.error = reading.error or error
    reading.skip(f"cluster {reading.source.name}", "unreachable" if not reading.reachable else "error", error, at)


async def _read_rest(reading: ClusterRun, at: Callable[[], datetime], gates: Gates, cycle_s: float, limits: RequestLimits) -> None:
    source = reading.source
    gate = gates.of(parse_address(source.url, None).origin)
    collected = await collect_cluster(source, reading.part("rest"), at, limits=limits, gate=gate, cycle_s=cycle_s)
    reading.rest = collected
    reading.cursor["rest"] = collected.cursor
    reading.observed += collected.observed
    reading.reachable, reading.error = collected.reachable, collected.error
    reading.requests += collected.requests


async def _read_history(reading: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    source = reading.source
    async with client_of(source, source.history_url, gates.of(parse_address(source.history_url, None).origin)) as client:
        try:
            found = await read_history(client, source.name, reading.part("history"), at)
        finally:
            reading.requests += client.requests
    reading.cursor["history"] = found.cursor
    reading.observed += found.observed
    if found.skips:
        reading.observed.append(Observed(source.name, at(), "history", found.skips))
    if not source.url:
        reading.reachable = found.reachable is not False
        reading.history_jobs = found.jobs_seen
    reading.error = reading.error or found.error


async def _read_flame_graphs(reading: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    source = reading.source
    async with client_of(source, source.url, gates.of(parse_address(source.url, None).origin)) as client:
        try:
            version = reading.rest.flink_version if reading.rest else None
            reading.flame_graphs = await flame_graphs.ask(client, source.flame_graphs, version, at)
        finally:
            reading.requests += client.requests


async def _read_log_endpoint(reading: ClusterRun, at: Callable[[], datetime], gates: Gates, transfer: Transfer) -> None:
    source, cursor, now = reading.source, reading.part("log_endpoint"), at()
    if not endpoint.is_due(cursor, now):
        return
    async with client_of(source, source.url, gates.of(parse_address(source.url, None).origin)) as client:
        try:
            listing = await client.get("/jobmanager/logs")
        except BadAnswer as error:
            reading.cursor["log_endpoint"] = {**cursor, **endpoint.waiting(now, NO_ENDPOINT_AGAIN_AFTER_S)}
            if error.reason != "not_found":
                reading.skip("/jobmanager/logs", error.reason, str(error), now, endpoint.SOURCE)
            return
        except Unanswered as error:
            reading.skip("/jobmanager/logs", error.reason, str(error), now, endpoint.SOURCE)
            return
        finally:
            reading.requests += client.requests
        try:
            async with asyncio.timeout(LOG_ENDPOINT_TIMEOUT_S):
                result = await endpoint.read_new(source.logs, source.name, listing, client.stream, cursor, now, transfer)
        except TimeoutError:
            detail = f"Its log files did not come within {LOG_ENDPOINT_TIMEOUT_S:g} s; they are read from where they were left."
            reading.skip("/jobmanager/logs", "timeout", detail, now, endpoint.SOURCE)
            reading.cursor["log_endpoint"] = {**cursor, **endpoint.waiting(now, NO_ENDPOINT_AGAIN_AFTER_S)}
            return
    reading.observed += result.observed
    reading.cursor["log_endpoint"] = result.cursor


def _read_archives(reading: ClusterRun, at: datetime) -> None:
    source = reading.source
    if not source.archive_dir:
        return
    try:
        found = read_archives(source.archive_dir, source.name, reading.part("archive"), at)
    except Exception as error:
        log.exception("archives of cluster %s could not be read", source.name)
        reading.skip(source.archive_dir, "unreadable_file", f"Reading the archives failed with {type(error).__name__}.", at, "archive")
        return
    reading.observed += found.observed
    if found.skips:
        reading.observed.append(Observed(source.name, at, "archive", found.skips))
    reading.cursor["archive"] = found.cursor


def _follows_endpoint(source: ClusterSource) -> bool:
    return source.logs.endpoint and not source.logs.globs


def _tail(reading: ClusterRun, at: datetime, share_bytes: int) -> None:
    logs = reading.source.logs
    if not logs.globs:
        return
    bounded = replace(logs, max_bytes_per_cycle=min(logs.max_bytes_per_cycle, max(LEAST_LOG_BYTES, share_bytes)))
    try:
        result = tail.read_new(bounded, reading.source.name, reading.part("logs"), at)
    except IngestError as error:
        reading.error = reading.error or str(error)
        reading.skip(f"logs of {reading.source.name}", "unreadable_file", str(error), at, "log")
        return
    reading.observed += result.observed
    if result.skips:
        reading.observed.append(Observed(reading.source.name, at, "log", result.skips))
    reading.cursor["logs"] = result.cursor


def _read_metadata(reading: ClusterRun, at: datetime, reach: Reach) -> None:
    source = reading.source
    if not source.metadata.enabled:
        return
    try:
        found, cursor = read_evidence(source.metadata, source.name, reading.part("metadata"), reading.observed, at, reach)
    except Exception as error:
        log.exception("_metadata of cluster %s could not be read", source.name)
        reading.skip(f"_metadata of {source.name}", "unreadable_file", f"Reading failed with {type(error).__name__}.", at, "metadata")
        return
    reading.observed += found
    reading.cursor["metadata"] = cursor


def _outcome(reading: ClusterRun) -> ClusterOutcome:
    rest = reading.rest
    records = [record for part in reading.observed for record in part.records]
    # A snapshot that cannot be reached from here is reported, and is no fault of the cluster.
    asked = [record for part in reading.observed if part.source != EVIDENCE for record in part.records]
    return ClusterOutcome(
        cluster=reading.source.name,
        reachable=reading.reachable,
        error=reading.error,
        cursor=reading.cursor,
        flink_version=rest.flink_version if rest else None,
        jobs_seen=rest.jobs_seen if rest else reading.history_jobs,
        requests=reading.requests,
        records=len(records),
        skips=sum(isinstance(record, Skip) for record in asked),
        metrics_interval_s=rest.metrics_interval_s if rest else None,
        sampling_reason=rest.sampling_reason if rest else "",
        flame_graphs=reading.flame_graphs,
    )
