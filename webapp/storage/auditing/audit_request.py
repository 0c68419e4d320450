from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations

from django.db.models import Q, QuerySet
from django.utils import timezone

from ingest.errors import Refused
from ingest.messages import message
from ingest.storage.roots import Root
from ingest.uris import are_nested, is_below
from webapp.fleet.choices import ClusterKind, OperatorState
from webapp.fleet.freshness import late_before
from webapp.fleet.models import Cluster, JobCurrent, SourceReading
from webapp.lib.storage_uris import spellings
from webapp.storage.auditing import known_jobs
from webapp.storage.choices import RootKind
from webapp.storage.models import StorageAudit, StorageRoot
from webapp.storage.suggestions import uncovered
from webapp.work.keys import CYCLE
from webapp.work.models import DueWork

HEARD_WITHIN = timedelta(hours=1)
"""Clusters without an address report a job that takes checkpoints at least once in this time."""


@dataclass(frozen=True)
class RequestedRoot:
    """``withheld``: why the attestation does not count this time; else "". ``unreachable``:
    clusters that may write to the root, whose jobs cannot be seen now; ``unreachable_elsewhere``:
    other clusters whose new jobs would not be seen. ``outside``: directories of live clusters
    outside all roots.
    """

    root: Root
    clusters: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    unreachable_elsewhere: tuple[str, ...] = ()
    attested: bool = False
    withheld: str = ""
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditRequest:
    """``inventory`` is a file that is read instead of listing a root; then there is only one root.

    Jobs of ``clusters_of_then`` that began after ``as_of`` are left out, for they certainly use no
    listed file. Jobs of other clusters are not left out: they may have been restored from files of
    an old inventory.
    """

    roots: tuple[RequestedRoot, ...]
    age_guard_h: int
    purpose: str
    fresh: bool = False
    inventory: str = ""
    as_of: datetime | None = None
    clusters_of_then: tuple[str, ...] = ()

    @property
    def uris(self) -> list[str]:
        return [requested.root.uri for requested in self.roots]

    def jobs_left_out(self) -> Q:
        if self.as_of is None:
            return known_jobs.NO_JOBS
        # A job without a start time began when it was first seen.
        later = Q(start_time__gt=self.as_of) | Q(start_time=None, first_seen_at__gt=self.as_of)
        return Q(cluster__in=self.clusters_of_then) & later


def registered_roots(
    rows: Sequence[StorageRoot], unreachable: Iterable[str]
) -> tuple[RequestedRoot, ...]:
    """The roots of one audit of ``rows``. An attestation counts only if the audit sees everything
    that may refer into the root: every registered root, every known directory of live clusters, and
    current jobs. ``unreachable``: names of clusters.
    """
    unreachable_names = set(unreachable)
    missing_root = (
        StorageRoot.objects.exclude(pk__in=[row.pk for row in rows])
        .values_list("uri", flat=True)
        .first()
    )
    outside = uncovered([row.uri for row in rows])
    now = timezone.now()
    withheld = ""
    if missing_root:
        withheld = (
            f"The registered root {missing_root} is not part of this audit, and a checkpoint in "
            "it may refer to these files."
        )
    elif outside:
        withheld = (
            f"Live clusters also write below {outside[0]}, which is no registered root; add "
            "it, for a checkpoint in it may refer here."
        )
    elif _is_late(now):
        withheld = message(
            "What was collected of jobs is not loaded: one of them may have been restored from "
            "these files. See the status of the pipeline, and audit again once it is loaded."
        )
    may_start_jobs = unreachable_names.difference(_idle_clusters()).union(
        _clusters_without_known_jobs(now)
    )
    expired = _expired_attestations(rows)
    return tuple(
        _requested_root(
            row, unreachable_names, may_start_jobs, withheld or expired.get(row.uri, ""), outside
        )
        for row in rows
    )


def request_for(
    rows: Sequence[StorageRoot], age_guard_h: int, purpose: str, *, fresh: bool = False
) -> AuditRequest:
    roots = registered_roots(rows, unreachable_clusters())
    return AuditRequest(roots, age_guard_h, purpose, fresh)


def _is_late(now: datetime) -> bool:
    """Whether the cycle has not loaded new jobs in time."""
    cycle = DueWork.objects.filter(key=CYCLE).first()
    if cycle is None:
        return False
    loaded_at = cycle.last_success_at or cycle.created_at
    return loaded_at is None or loaded_at < late_before(now)


def _idle_clusters() -> "QuerySet[Cluster, str]":
    """Clusters that start no jobs: their source no longer lists them, or the operator suspended
    them. A broken cluster is not idle: it tries to start.
    """
    is_unlisted = Q(left_at__isnull=False, found_by__in=SourceReading.objects.values("name"))
    idle = Cluster.objects.filter(is_unlisted | Q(operator_state=OperatorState.SUSPENDED))
    return idle.values_list("name", flat=True)


def _clusters_without_known_jobs(now: datetime) -> "QuerySet[Cluster, str]":
    """Live clusters whose running jobs are unknown: they have only a History Server, or only logs
    and metrics without a recent job.
    """
    heard = JobCurrent.objects.filter(last_seen_at__gte=now - HEARD_WITHIN).values("cluster")
    silent = Cluster.objects.live().filter(url="").exclude(name__in=heard)
    names = Cluster.objects.without_running_jobs() | silent
    return names.values_list("name", flat=True)


def _expired_attestations(rows: Sequence[StorageRoot]) -> dict[str, str]:
    """Root → why its attestation does not count: a later audit saw that live clusters wrote outside
    all roots. Their paths may be forgotten, but their files may stay.
    """
    uris = [row.uri for row in rows]
    since = min((row.attested_at for row in rows if row.attested_at), default=None)
    if since is None:
        return {}
    audits = StorageAudit.objects.filter(created_at__gt=since).exclude(outside=[])
    withheld = {}
    for created_at, outside in audits.values_list("created_at", "outside"):
        uncovered_places = [
            place for place in outside if not any(is_below(place, uri) for uri in uris)
        ]
        if not uncovered_places:
            continue
        for row in rows:
            if row.attested_at and row.attested_at < created_at:
                withheld[row.uri] = (
                    f"Live clusters once wrote below {uncovered_places[0]}, which is no registered "
                    "root: add it, or look at what is left there and attest again."
                )
    return withheld


def _requested_root(
    row: StorageRoot,
    unreachable_names: set[str],
    may_start_jobs: set[str],
    withheld: str,
    outside: Sequence[str],
) -> RequestedRoot:
    names = tuple(sorted(cluster.name for cluster in row.clusters.all()))
    # If the row names no cluster, any cluster may write there.
    unreachable = unreachable_names.intersection(names) if names else unreachable_names
    return RequestedRoot(
        root=row.place,
        clusters=names,
        unreachable=tuple(sorted(unreachable)),
        unreachable_elsewhere=tuple(sorted(may_start_jobs - unreachable)),
        attested=row.is_attested and not withheld and row.kind != RootKind.HIGH_AVAILABILITY,
        withheld=withheld if row.is_attested else "",
        outside=tuple(outside),
    )


def typed_roots(uris: Sequence[str], read_at: str | None) -> tuple[RequestedRoot, ...]:
    """Typed roots; registered ones come with clusters and attestation. Raises ``Refused``,
    ``BadUri``.
    """
    roots = [Root.of(uri, read_at, spellings()) for uri in uris]
    rows = {
        row.uri: row
        for row in StorageRoot.objects.prefetch_related("clusters").filter(
            uri__in=[root.uri for root in roots]
        )
    }
    refuse_overlap([root.uri for root in roots])
    registered: dict[str, RequestedRoot] = {}
    if rows:
        for requested in registered_roots(list(rows.values()), unreachable_clusters()):
            registered[requested.root.uri] = requested
    return tuple(
        _with_read_at(registered[root.uri], root, read_at)
        if root.uri in registered
        else RequestedRoot(root)
        for root in roots
    )


def _with_read_at(requested: RequestedRoot, root: Root, read_at: str | None) -> RequestedRoot:
    if read_at is None:
        return requested
    return replace(
        requested,
        root=root,
        attested=False,
        withheld=f"It was read at {read_at}." if requested.attested else "",
    )


def refuse_overlap(uris: Sequence[str]) -> None:
    """Raises ``Refused`` if a root lies within another: it would be listed twice."""
    for uri, other in combinations(uris, 2):
        if are_nested(uri, other):
            outer, inner = sorted((uri, other), key=len)
            raise Refused(f"{inner} lies within {outer}: name the outer one alone.")


def unreachable_clusters() -> list[str]:
    """Names of live clusters whose jobs cannot be seen now."""
    return list(
        Cluster.objects.unseen(timezone.now())
        .exclude(kind=ClusterKind.RECORDING)
        .values_list("name", flat=True)
    )
