import contextvars
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ingest.cluster_run import ClusterRun, CollectorCursor, Shard
from ingest.errors import IngestError
from ingest.flink_rest.limits import RequestLimits, limits_per_cluster
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from ingest.lake.store import Lake
from ingest.log_stores.collector import StoreRead
from ingest.messages import message
from ingest.metadata.evidence import SOURCE as EVIDENCE
from ingest.records import Skip
from ingest.shard_reading import ShardReading, Stall
from ingest.source_declaration import Source
from ingest.source_registry import sources
from ingest.sources import ClusterSource

log = logging.getLogger(__name__)

SHARD_REQUESTS = 40_000
"""In one cycle: what one core can send, read and write in half a minute."""


@dataclass(frozen=True, slots=True)
class ClusterOutcome:
    """``reachable``: the REST endpoint (or History Server) answered. ``refused``: no process
    listened there. ``metrics_interval_s``: time between two samples of a healthy job.
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
    thread_dumps: tuple[ThreadDumpAnswer, ...] = ()
    log_store: StoreRead | None = None
    refused: bool = False
    took_s: float = 0
    stalled_s: float = 0
    files_late: bool = False


def collect_shard(
    clusters: Sequence[ClusterSource],
    cursors: Mapping[str, CollectorCursor],
    lake: Lake,
    *,
    at: Callable[[], datetime] = lambda: datetime.now(UTC),
    cycle_s: float = 30,
    limits: RequestLimits | None = None,
    committed: Callable[[Sequence[ClusterOutcome]], None] = lambda _outcomes: None,
    stragglers_after_s: float | None = None,
) -> list[ClusterOutcome]:
    """Outcomes in the order of ``clusters``. ``committed`` gets the outcomes of each group of
    clusters, in this thread, as soon as their rows are in the lake. ``stragglers_after_s``: a
    cluster that takes longer than this and than twice the shard's median has no outcome. Raises
    only if the lake cannot be written.
    """
    shard = Shard(
        at, cycle_s, limits_per_cluster(SHARD_REQUESTS, len(clusters), limits or RequestLimits())
    )
    shard.runs = [
        ClusterRun(cluster, dict(cursors.get(cluster.name) or {}), shard) for cluster in clusters
    ]
    files_within_s = FILES_S if stragglers_after_s is None else FILES_OF_SHARD_S
    outcomes: dict[str, ClusterOutcome] = {}
    with ShardReading(shard.runs, _read_endpoints, stragglers_after_s) as reading:
        for group in reading.groups():
            group = [_add_files(run, files_within_s) for run in group]
            lake.append(observed for run in group for observed in run.observed)
            group_outcomes = [_outcome(run) for run in group]
            outcomes |= {outcome.cluster: outcome for outcome in group_outcomes}
            committed(group_outcomes)
            for run in group:
                run.observed.clear()
    return [outcomes[cluster.name] for cluster in clusters if cluster.name in outcomes]


async def _read_endpoints(run: ClusterRun, stall: Stall) -> None:
    began = time.monotonic()
    for source in sources():
        if not source.files and source.applies(run):
            try:
                if source_read := await source.read(run):
                    run.add(source.name, source_read)
            except Exception as error:
                error_text = _error_text(run, source, error)
                run.reachable = run.reachable and run.rest is not None
                reason = "unreachable" if not run.reachable else "error"
                run.error = run.error or error_text
                run.skip("rest", Skip(f"cluster {run.cluster.name}", reason, error_text))
    run.took_s = time.monotonic() - began
    run.stalled_s = stall.total_s_since(began)


FILES_S = 120.0
"""To read the logs and snapshots of a cluster; a large backlog takes half a minute."""
FILES_OF_SHARD_S = 20.0
_file_threads: dict[str, threading.Thread] = {}
"""Name of a cluster → the thread that still waits for its files. A thread cannot be ended."""


def _add_files(run: ClusterRun, within_s: float) -> ClusterRun:
    name = run.cluster.name
    if not any(source.files and source.applies(run) for source in sources()):
        return run
    thread = _file_threads.get(name)
    if thread is None or not thread.is_alive():
        # The thread gets a copy, since it may change the run after this function has returned.
        run_copy = replace(run, cursor=dict(run.cursor), observed=list(run.observed))
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(_read_files, run_copy), daemon=True)
        thread.start()
        thread.join(within_s)
        if not thread.is_alive():
            run.observed = run_copy.observed
            return run_copy
        _file_threads[name] = thread
    late = message(
        "Its files (logs, snapshots) were not read within {files_s:number} s; the rest is.",
        files_s=within_s,
    )
    run.error = run.error or late
    run.files_late = True
    run.skip("log", Skip(f"cluster {name}", "timeout", late))
    return run


def _read_files(run: ClusterRun) -> None:
    for source in sources():
        if source.files and source.applies(run):
            try:
                if source_read := source.read(run):
                    run.add(source.name, source_read)
            except Exception as error:
                reason = _error_text(run, source, error)
                run.error = run.error or (reason if isinstance(error, IngestError) else None)
                run.skip(
                    source.name,
                    Skip(f"source {source.name} of {run.cluster.name}", "unreadable_file", reason),
                )


def _error_text(run: ClusterRun, source: Source, error: Exception) -> str:
    if isinstance(error, IngestError):
        return str(error)
    log.exception("%s of cluster %s could not be read", source.name, run.cluster.name)
    return message(
        "Reading {name:name} failed with {name2:name}; see the log of the collecting process.",
        name=source.name,
        name2=type(error).__name__,
    )


def _outcome(run: ClusterRun) -> ClusterOutcome:
    rest = run.rest
    records = [record for part in run.observed for record in part.records]
    # A snapshot that Weir cannot reach is reported, but is no fault of the cluster.
    requested = [
        record for part in run.observed if part.source != EVIDENCE for record in part.records
    ]
    return ClusterOutcome(
        cluster=run.cluster.name,
        reachable=run.reachable,
        error=run.error,
        cursor=run.cursor,
        flink_version=rest.flink_version if rest else None,
        jobs_seen=rest.jobs_seen if rest else run.jobs_seen,
        requests=run.requests,
        records=len(records),
        skips=sum(isinstance(record, Skip) for record in requested),
        metrics_interval_s=rest.metrics_interval_s if rest else None,
        refused=bool(rest and rest.refused),
        took_s=run.took_s,
        stalled_s=run.stalled_s,
        files_late=run.files_late,
        **run.outcome,
    )
