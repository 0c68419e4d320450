"""A collect cycle over a shard of clusters: everything that is new of each, committed to the lake as clusters are read.

The caller keeps a cursor (plain JSON) per cluster and saves the new ones once their rows are in the lake. Whatever
happens before that leaves the old cursors, and the same rows are read and folded again.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ingest import operator_log
from ingest.errors import IngestError
from ingest.flink_logs import endpoint, tail
from ingest.flink_logs.endpoint import Transfer
from ingest.flink_rest import flame_graphs, thread_dumps
from ingest.flink_rest.client import RestClient, client_of
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.gate import Gates
from ingest.flink_rest.history_server import read_history
from ingest.flink_rest.limits import RequestLimits, limits_per_cluster
from ingest.flink_rest.starting_tasks import StartingTask, taskmanagers_of
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from ingest.hdfs_audit import tail as hdfs_audit
from ingest.history.archives import read_archives
from ingest.lake.store import Lake
from ingest.log_stores import collector as log_stores
from ingest.log_stores.collector import StoreRead
from ingest.log_stores.opening import client_of as store_client
from ingest.metadata.evidence import SOURCE as EVIDENCE
from ingest.metadata.evidence import EvidenceBudget, read_evidence
from ingest.namenode_jmx import collector as namenode_jmx
from ingest.namenode_jmx.collector import read_namenode
from ingest.prometheus.client import prometheus_client
from ingest.prometheus.collector import read_metrics
from ingest.prometheus.history import HistoryBudget, Progress, progress_in
from ingest.prometheus.history import read_history as read_metrics_history
from ingest.prometheus.names import HISTORY
from ingest.pushed import metrics as pushed_metrics
from ingest.records import Observed, Skip
from ingest.shard_reading import ShardReading, Stall
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource

log = logging.getLogger(__name__)

SHARD_REQUESTS = 40_000
"""Of one cycle over all clusters of a shard: what one core asks, reads and writes in half a minute."""

SHARD_LOG_BYTES = 512 * 1024 * 1024
"""Of log files, tailed one cluster after the other at 30 MB/s and more."""

LEAST_LOG_BYTES = 4 * 1024 * 1024

SHARD_STORE_BYTES = 512 * 1024 * 1024
"""Of lines from stores of logs: as much as is then read as logs."""

SHARD_ENDPOINT_BYTES = 256 * 1024 * 1024
"""Of whole log files over REST."""

LOG_ENDPOINT_TIMEOUT_S = 45.0
"""Of one cluster: 256 KiB a second are transferred on average, so this is generous, and no other cluster waits longer."""

NO_ENDPOINT_AGAIN_AFTER_S = 900
"""No request every minute to a JobManager that writes no log file."""

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
    thread_dumps: tuple[ThreadDumpAnswer, ...] = ()
    starting: tuple[StartingTask, ...] = ()
    """Tasks that were slow to start when threads were dumped for that."""
    log_store: StoreRead | None = None
    metrics_history: Progress | None = None
    """How far a Prometheus was read back."""
    took_s: float = 0
    """Of its endpoints."""
    stalled_s: float = 0
    """How much of that this process itself did not get to run."""


def collect_shard(
    sources: Sequence[ClusterSource],
    cursors: Mapping[str, CollectorCursor],
    lake: Lake,
    *,
    at: Callable[[], datetime] = lambda: datetime.now(UTC),
    cycle_s: float = 30,
    total_requests: int = SHARD_REQUESTS,
    limits: RequestLimits | None = None,
    committed: Callable[[Sequence[ClusterOutcome]], None] = lambda _outcomes: None,
    stragglers_after_s: float | None = None,
) -> list[ClusterOutcome]:
    """Outcomes in the order of ``sources``. ``cursors`` is by cluster name; ``cycle_s`` is how often this is called.

    ``committed`` gets the outcomes of each group of clusters, in this thread, as soon as their rows are in the lake: then their
    cursors may be saved. With ``stragglers_after_s``, who takes that long and twice as long as half of the shard is left unread: it
    has no outcome. One cluster's failure is its own outcome. Raises only where the lake cannot be written.
    """
    runs = [ClusterRun(source, dict(cursors.get(source.name) or {})) for source in sources]
    shard = _Shard(runs, at, cycle_s, limits_per_cluster(total_requests, len(sources), limits or RequestLimits()))
    outcomes: dict[str, ClusterOutcome] = {}
    budget = EvidenceBudget()
    with ShardReading(runs, shard.read, stragglers_after_s) as reading:
        for group in reading.groups():
            for run in group:
                _read_files(run, at, len(sources), budget)
            lake.append(observed for run in group for observed in run.observed)
            done = [_outcome(run) for run in group]
            outcomes |= {outcome.cluster: outcome for outcome in done}
            committed(done)
            for run in group:
                run.observed.clear()
    return [outcomes[source.name] for source in sources if source.name in outcomes]


def _read_files(run: "ClusterRun", at: Callable[[], datetime], clusters: int, budget: EvidenceBudget) -> None:
    _read_pushed_metrics(run, at())
    _read_archives(run, at())
    _tail(run, at(), SHARD_LOG_BYTES // clusters)
    _take_operator_events(run, at())
    _read_hdfs_audit(run, at())
    _read_metadata(run, at(), budget)


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
    thread_dumps: tuple[ThreadDumpAnswer, ...] = ()
    log_store: StoreRead | None = None
    took_s: float = 0
    stalled_s: float = 0

    @property
    def slow_to_start(self) -> tuple[StartingTask, ...]:
        """Tasks whose threads are to be dumped."""
        return self.rest.starting if self.rest and self.source.dumps_slow_starts else ()

    def part(self, name: str) -> dict[str, Any]:
        """What is remembered of one kind of source."""
        part = self.cursor.get(name)
        return part if isinstance(part, dict) else {}

    @asynccontextmanager
    async def client(self, url: str, gates: Gates) -> AsyncIterator[RestClient]:
        """A client for an address of this cluster, whose requests count."""
        async with client_of(self.source, url, gates.of(url)) as client:
            try:
                yield client
            finally:
                self.requests += client.requests

    def take(self, observed: Iterable[Observed], skips: tuple[Skip, ...], at: datetime, source: str) -> None:
        """Keep what one kind of source gave."""
        self.observed += observed
        if skips:
            self.observed.append(Observed(self.source.name, at, source, skips))

    def take_source(self, name: str, found: SourceRead, at: datetime) -> None:
        """Keep what a source gave that stands for the cluster where it has no address of its own."""
        self.cursor[name] = found.cursor
        self.take(found.observed, found.skips, at, name)
        if not self.source.url:
            self.reachable = found.reachable is not False
            self.history_jobs = max(self.history_jobs, found.jobs_seen)
        self.error = self.error or found.error

    def skip(self, subject: str, reason: str, detail: str, at: datetime, source: str = "rest") -> None:
        """Note one input that was passed over."""
        self.observed.append(Observed(self.source.name, at, source, (Skip(subject, reason, detail),)))


@dataclass
class _Shard:
    """What the clusters of one cycle share."""

    runs: Sequence[ClusterRun]
    at: Callable[[], datetime]
    cycle_s: float
    limits: RequestLimits
    gates: Gates = field(default_factory=Gates)
    transfers: dict[str, Transfer] = field(init=False)
    """By cluster. Half of the bytes are for those that have waited longest for a share."""

    def __post_init__(self) -> None:
        waiting = sorted(self.runs, key=lambda run: run.part("log_endpoint").get("due_at", 0))
        halves = [Transfer(SHARD_ENDPOINT_BYTES // 2), Transfer(SHARD_ENDPOINT_BYTES // 2)]
        self.transfers = {run.source.name: halves[2 * place // len(waiting)] for place, run in enumerate(waiting)}

    async def read(self, run: ClusterRun, stall: Stall) -> None:
        """All endpoints of one cluster, one after the other: nothing of it waits for another cluster."""
        source, at, gates, began = run.source, self.at, self.gates, time.monotonic()
        if source.url:
            await _guarded(_read_rest, run, at, gates, self.cycle_s, self.limits)
        if source.history_url:
            await _guarded(_read_history, run, at, gates)
        if source.prometheus:
            scraped = sum(one.source.prometheus is not None for one in self.runs)
            await _guarded(_read_prometheus, run, at, gates, HistoryBudget().share(scraped))
        if source.log_store:
            with_store = sum(one.source.log_store is not None for one in self.runs)
            share_bytes = min(log_stores.MAX_BYTES, max(LEAST_LOG_BYTES, SHARD_STORE_BYTES // with_store))
            await _guarded(_read_log_store, run, at, gates, share_bytes)
        if source.namenode_jmx_url:
            await _guarded(_read_namenode, run, at, gates)
        if run.rest and run.reachable:
            if source.flame_graphs:
                await _guarded(_read_flame_graphs, run, at, gates)
            if source.thread_dumps or run.slow_to_start:
                await _guarded(_read_thread_dumps, run, at, gates)
            if _follows_endpoint(source):
                await _guarded(_read_log_endpoint, run, at, gates, self.transfers[source.name])
        run.took_s = time.monotonic() - began
        run.stalled_s = stall.total_s_since(began)


async def _guarded(read: Callable[..., Awaitable[None]], run: ClusterRun, at: Callable[[], datetime], *more: Any) -> None:
    """One cluster's failure, even an unexpected one, is that cluster's alone."""
    try:
        await read(run, at, *more)
    except IngestError as error:
        _fail(run, str(error), at())
    except Exception as error:
        log.exception("cluster %s could not be collected", run.source.name)
        _fail(run, f"Collecting failed with {type(error).__name__}; see the log of the collecting process.", at())


def _fail(run: ClusterRun, error: str, at: datetime) -> None:
    run.reachable = run.reachable and run.rest is not None
    run.error = run.error or error
    run.skip(f"cluster {run.source.name}", "unreachable" if not run.reachable else "error", error, at)


async def _read_rest(run: ClusterRun, at: Callable[[], datetime], gates: Gates, cycle_s: float, limits: RequestLimits) -> None:
    source = run.source
    collected = await collect_cluster(source, run.part("rest"), at, limits=limits, gate=gates.of(source.url), cycle_s=cycle_s)
    run.rest = collected
    run.cursor["rest"] = collected.cursor
    run.observed += collected.observed
    run.reachable, run.error = collected.reachable, collected.error
    run.requests += collected.requests


async def _read_history(run: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    source = run.source
    async with run.client(source.history_url, gates) as client:
        found = await read_history(client, source.name, run.part("history"), at)
    run.take_source("history", found, at())


async def _read_prometheus(run: ClusterRun, at: Callable[[], datetime], gates: Gates, budget: HistoryBudget) -> None:
    if (prometheus := run.source.prometheus) is None:
        return
    async with prometheus_client(run.source, prometheus, gates.of(prometheus.url)) as client:
        try:
            found = await read_metrics(client, run.source, run.part("prometheus"), at)
            is_new = not run.part("prometheus")
            run.take_source("prometheus", found, at())
            await _read_metrics_history(run, client, found, is_new, budget, at)
        finally:
            run.requests += client.requests


async def _read_metrics_history(
    run: ClusterRun, client: RestClient, present: SourceRead, is_new: bool, budget: HistoryBudget, at: Callable[[], datetime]
) -> None:
    """Only where it was begun when the Prometheus was new here: what was read as the present is not read again as history."""
    if not present.reachable or not (is_new or progress_in(run.part(HISTORY))):
        return
    found = await read_metrics_history(client, run.source, run.part(HISTORY), present, budget)
    run.cursor[HISTORY] = found.cursor
    run.take(found.observed, found.skips, at(), HISTORY)


async def _read_log_store(run: ClusterRun, at: Callable[[], datetime], gates: Gates, share_bytes: int) -> None:
    """A store that does not answer stops itself alone; where a cluster has nothing else, it is the cluster that cannot be seen."""
    if (store := run.source.log_store) is None:
        return
    async with store_client(store, run.source.tls, gates.of(store.url)) as client:
        found = await log_stores.read_lines(client, store, run.part("log_store"), run.part("logs"), at, max_bytes=share_bytes)
        run.requests += client.requests
    run.cursor["log_store"], run.log_store = found.cursor, found
    run.take((), found.skips, at(), log_stores.SOURCE)
    if _has_store_alone(run.source):
        run.reachable, run.error = found.error is None, run.error or found.error


def _has_store_alone(source: ClusterSource) -> bool:
    has_files = any(source.log_store is None or not glob.startswith(source.log_store.spool) for glob in source.logs.globs)
    return not (source.url or source.history_url or source.archive_dir or source.prometheus or has_files)


async def _read_namenode(run: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    """A NameNode that does not answer is an input that is missing; nothing else of the cluster depends on it."""
    url = run.source.namenode_jmx_url
    found = await read_namenode(run.source, run.part(namenode_jmx.SOURCE), gates.of(url), at)
    run.requests += found.requests
    run.cursor[namenode_jmx.SOURCE] = found.cursor
    if found.error:
        run.skip(f"JMX of the NameNode of {run.source.name}", found.reason, found.error, at(), namenode_jmx.SOURCE)
    if found.sample:
        run.observed.append(Observed(run.source.name, found.sample.ts, namenode_jmx.SOURCE, (found.sample,)))


async def _read_flame_graphs(run: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    source = run.source
    async with run.client(source.url, gates) as client:
        version = run.rest.flink_version if run.rest else None
        run.flame_graphs = await flame_graphs.request(client, source.flame_graphs, version, at)


async def _read_thread_dumps(run: ClusterRun, at: Callable[[], datetime], gates: Gates) -> None:
    source = run.source
    async with run.client(source.url, gates) as client:
        version = run.rest.flink_version if run.rest else None
        more = taskmanagers_of(run.slow_to_start, thread_dumps.DUMPS_PER_CYCLE)
        wanted = tuple(dict.fromkeys((*source.thread_dumps, *more)))
        run.thread_dumps = await thread_dumps.request(client, wanted, version, at)


async def _read_log_endpoint(run: ClusterRun, at: Callable[[], datetime], gates: Gates, transfer: Transfer) -> None:
    source, cursor, now = run.source, run.part("log_endpoint"), at()
    if not endpoint.is_due(cursor, now):
        return
    async with run.client(source.url, gates) as client:
        try:
            listing = await client.get("/jobmanager/logs")
            async with asyncio.timeout(LOG_ENDPOINT_TIMEOUT_S):
                result = await endpoint.read_new(source.logs, source.name, listing, client.stream, cursor, now, transfer)
        except (BadAnswer, Unanswered) as error:
            if isinstance(error, BadAnswer):
                run.cursor["log_endpoint"] = {**cursor, **endpoint.waiting(now, NO_ENDPOINT_AGAIN_AFTER_S)}
            if error.reason != "not_found":
                run.skip("/jobmanager/logs", error.reason, str(error), now, endpoint.SOURCE)
            return
        except TimeoutError:
            detail = f"Its log files did not come within {LOG_ENDPOINT_TIMEOUT_S:g} s; they are read from where they were left."
            run.skip("/jobmanager/logs", "timeout", detail, now, endpoint.SOURCE)
            run.cursor["log_endpoint"] = {**cursor, **endpoint.waiting(now, NO_ENDPOINT_AGAIN_AFTER_S)}
            return
    run.observed += result.observed
    run.cursor["log_endpoint"] = result.cursor


def _read_pushed_metrics(run: ClusterRun, at: datetime) -> None:
    if not run.source.pushed_metrics:
        return
    try:
        found = pushed_metrics.read_pushed(run.source, run.part(pushed_metrics.SOURCE), at)
    except (OSError, ValueError) as error:
        log.exception("pushed metrics of cluster %s could not be read", run.source.name)
        run.skip(run.source.pushed_metrics, "unreadable_file", f"Reading failed with {type(error).__name__}.", at, pushed_metrics.SOURCE)
        return
    if found.reachable is not None:
        run.take_source(pushed_metrics.SOURCE, found, at)


def _read_archives(run: ClusterRun, at: datetime) -> None:
    source = run.source
    if not source.archive_dir:
        return
    try:
        found = read_archives(source.archive_dir, source.name, run.part("archive"), at)
    except Exception as error:
        log.exception("archives of cluster %s could not be read", source.name)
        run.skip(source.archive_dir, "unreadable_file", f"Reading the archives failed with {type(error).__name__}.", at, "archive")
        return
    run.take(found.observed, found.skips, at, "archive")
    run.cursor["archive"] = found.cursor


def _follows_endpoint(source: ClusterSource) -> bool:
    return source.logs.endpoint and not source.logs.globs


def _tail(run: ClusterRun, at: datetime, share_bytes: int) -> None:
    logs = run.source.logs
    if not logs.globs:
        return
    bounded = replace(logs, max_bytes_per_cycle=min(logs.max_bytes_per_cycle, max(LEAST_LOG_BYTES, share_bytes)))
    try:
        result = tail.read_new(bounded, run.source.name, run.part("logs"), at)
    except IngestError as error:
        run.error = run.error or str(error)
        run.skip(f"logs of {run.source.name}", "unreadable_file", str(error), at, "log")
        return
    run.take(result.observed, result.skips, at, "log")
    run.cursor["logs"] = result.cursor


def _take_operator_events(run: ClusterRun, at: datetime) -> None:
    if not run.source.operator_events:
        return
    records, run.cursor[operator_log.SOURCE] = operator_log.new_records(run.source.operator_events, run.part(operator_log.SOURCE), at)
    if records:
        run.observed.append(Observed(run.source.name, at, operator_log.SOURCE, records))


def _read_hdfs_audit(run: ClusterRun, at: datetime) -> None:
    wanted = run.source.hdfs_audit
    if not wanted.globs:
        return
    try:
        found = hdfs_audit.read_new(wanted.globs, wanted.time_zone, run.part(hdfs_audit.SOURCE))
    except Exception as error:
        log.exception("audit logs of cluster %s could not be read", run.source.name)
        detail = str(error) if isinstance(error, IngestError) else f"Reading the audit logs failed with {type(error).__name__}."
        run.skip(f"HDFS audit logs of {run.source.name}", "unreadable_file", detail, at, hdfs_audit.SOURCE)
        return
    observed = [Observed(run.source.name, at, hdfs_audit.SOURCE, found.records)] if found.records else []
    run.take(observed, found.skips, at, hdfs_audit.SOURCE)
    run.cursor[hdfs_audit.SOURCE] = found.cursor


def _read_metadata(run: ClusterRun, at: datetime, budget: EvidenceBudget) -> None:
    source = run.source
    if not source.metadata.enabled:
        return
    try:
        found, cursor = read_evidence(source.metadata, source.name, run.part("metadata"), run.observed, at, budget)
    except Exception as error:
        log.exception("_metadata of cluster %s could not be read", source.name)
        run.skip(f"_metadata of {source.name}", "unreadable_file", f"Reading failed with {type(error).__name__}.", at, "metadata")
        return
    run.observed += found
    run.cursor["metadata"] = cursor


def _outcome(run: ClusterRun) -> ClusterOutcome:
    rest = run.rest
    records = [record for part in run.observed for record in part.records]
    # A snapshot that cannot be reached from here is reported, and is no fault of the cluster.
    requested = [record for part in run.observed if part.source != EVIDENCE for record in part.records]
    return ClusterOutcome(
        cluster=run.source.name,
        reachable=run.reachable,
        error=run.error,
        cursor=run.cursor,
        flink_version=rest.flink_version if rest else None,
        jobs_seen=rest.jobs_seen if rest else run.history_jobs,
        requests=run.requests,
        records=len(records),
        skips=sum(isinstance(record, Skip) for record in requested),
        metrics_interval_s=rest.metrics_interval_s if rest else None,
        sampling_reason=rest.sampling_reason if rest else "",
        flame_graphs=run.flame_graphs,
        thread_dumps=run.thread_dumps,
        starting=run.slow_to_start,
        log_store=run.log_store,
        metrics_history=progress_in(run.part(HISTORY)),
        took_s=run.took_s,
        stalled_s=run.stalled_s,
    )
