from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from django.core.cache import cache
from django.db.models import Sum

from spark_jobs.filesystem_calls.bursts import Burst, calls_by_second
from spark_jobs.filesystem_calls.namenode_heap import Namespace, small_heap_bytes
from webapp.analyses.filesystem_calls.fleet_jobs import WINDOW, FleetJob, fleet_jobs
from webapp.fleet.models import JobCurrent
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step
from webapp.lib.storage_uris import canonical_or_none
from webapp.replication.storages import storage_of
from webapp.storage.models import JobStorage, StorageRoot
from webapp.storage.namenodes import NameNode, NameNodes, namenodes_in
from webapp.storage.newest_audits import latest

SCHEMES = ("hdfs:", "viewfs:", "webhdfs:", "swebhdfs:")
MOST_PATHS = 1_000


@dataclass(frozen=True)
class RootMemory:
    """Memory that a root takes. ``small_files``: files up to 1 MiB, without ``_metadata``."""

    root: str
    namespace: Namespace
    namenode: NameNode | None
    small_files: int

    @property
    def share(self) -> float | None:
        """The share of the NameNode's files, directories and blocks. Excludes own directories."""
        node = self.namenode
        if node is None or node.files is None or node.blocks is None:
            return None
        total = node.files + node.blocks
        return min(1.0, self.namespace.objects / total) if total else None

    @property
    def small_heap_bytes(self) -> int:
        return small_heap_bytes(self.small_files)


def roots_memory(namenodes: Sequence[NameNode]) -> list[RootMemory]:
    """Memory of roots on HDFS, most files first. ``namenodes``: NameNodes whose JMX answered."""
    figures = [row for row in latest() if row.root.startswith(SCHEMES)]
    rows = JobStorage.objects.filter(
        audit__in={str(row.audit_id) for row in figures}, root__in={row.root for row in figures}
    )
    small = {
        (str(row["audit_id"]), row["root"]): row["small"]
        for row in rows.order_by().values("audit_id", "root").annotate(small=Sum("small_files"))
    }
    nodes = _namenodes_by_storage(namenodes) if figures else {}
    roots = [
        RootMemory(
            row.root,
            Namespace(row.files, row.bytes),
            nodes.get(storage_of(row.root)),
            small.get((str(row.audit_id), row.root)) or 0,
        )
        for row in figures
    ]
    return sorted(roots, key=lambda root: -root.namespace.files)


def _namenodes_by_storage(namenodes: Sequence[NameNode]) -> Mapping[str, NameNode]:
    """Leaves out clusters with several storages, as it is unknown which of these they declare."""
    nodes: dict[str, NameNode] = {}
    for node in namenodes:
        roots = StorageRoot.objects.filter(clusters__name=node.cluster)
        jobs = JobCurrent.objects.filter(cluster=node.cluster).exclude(last_completed_path=None)
        paths = [
            *roots.values_list("uri", flat=True),
            *jobs.order_by("-id").values_list("last_completed_path", flat=True)[:MOST_PATHS],
        ]
        storages = {_storage(path or "") for path in paths} - {""}
        if len(storages) == 1:
            nodes.setdefault(storages.pop(), node)
    return nodes


def _storage(path: str) -> str:
    """The storage of a path on HDFS, else ""."""
    uri = canonical_or_none(path) or ""
    return storage_of(uri) if uri.startswith(SCHEMES) else ""


SECONDS = int(WINDOW.total_seconds())


@dataclass(frozen=True)
class BusyJob:
    """A job with ``calls`` in the busiest second of its file system."""

    cluster: str
    job_id: str
    name: str
    calls: float


@dataclass(frozen=True)
class FileSystemCalls:
    """Calls to one file system. ``uncounted``: jobs whose files no audit counted; the figures
    exclude them. ``busy_jobs``: in the busiest second, most calls first. ``per_s``: on average.
    ``seconds``: calls by second.
    """

    file_system: str
    jobs: int
    uncounted: int
    per_s: float
    peak: float
    peak_at: datetime | None
    busy_jobs: Sequence[BusyJob]
    seconds: Sequence[float]


@dataclass(frozen=True)
class FleetCalls:
    """``start`` of the first second. ``left_out``: jobs with too few checkpoints to be examined."""

    start: datetime
    left_out: int
    file_systems: Sequence[FileSystemCalls]
    namenodes: NameNodes


_CACHED_CLASSES = (NameNodes, NameNode, FleetCalls, FileSystemCalls, BusyJob)


def look_up_fleet_calls(now: datetime) -> FleetCalls:
    """Cached briefly: tables and chart need the same data."""
    key = answer_key("fleet-calls", _CACHED_CLASSES, end_of_step(now))
    return cache.get_or_set(key, lambda: fleet_calls(now), KEPT_S) or fleet_calls(now)


def fleet_calls(now: datetime) -> FleetCalls:
    end, jobs, left_out = fleet_jobs(now)
    start = end.replace(microsecond=0) + timedelta(seconds=1) - WINDOW
    return FleetCalls(start, left_out, _file_systems(jobs, start), namenodes_in(start, SECONDS))


def _file_systems(jobs: Sequence[FleetJob], start: datetime) -> list[FileSystemCalls]:
    by_system: dict[str, list[FleetJob]] = {}
    for job in jobs:
        by_system.setdefault(job.file_system, []).append(job)
    systems = (_calls_to_system(name, group, start) for name, group in by_system.items())
    return sorted(systems, key=lambda system: (-system.peak, system.file_system))


def _calls_to_system(name: str, jobs: Sequence[FleetJob], start: datetime) -> FileSystemCalls:
    counted_jobs = [(job, calls) for job in jobs if (calls := job.calls) is not None]
    writes = [
        [
            Burst((checkpoint.trigger_time - start).total_seconds(), checkpoint.duration_s, calls)
            for checkpoint in job.checkpoints
        ]
        for job, calls in counted_jobs
    ]
    seconds = calls_by_second(chain.from_iterable(writes), SECONDS)
    worst = int(seconds.argmax())
    busy_jobs = []
    for (job, _calls), job_writes in zip(counted_jobs, writes, strict=True):
        if worst_calls := float(calls_by_second(job_writes, SECONDS)[worst]):
            busy_jobs.append(BusyJob(job.cluster, job.job_id, job.name, worst_calls))
    peak = float(seconds[worst])
    return FileSystemCalls(
        name,
        len(jobs),
        len(jobs) - len(counted_jobs),
        float(seconds.mean()),
        peak,
        start + timedelta(seconds=worst) if peak else None,
        sorted(busy_jobs, key=lambda job: (-job.calls, job.name)),
        seconds.tolist(),
    )
