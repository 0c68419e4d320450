"""One collect cycle of a shard, or of the slow clusters. A slow cluster delays its shard once: then
it is read separately, until it is quick again.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.utils import timezone

from ingest.shard_collector import ClusterOutcome, collect_shard
from ingest.sources import ClusterSource
from webapp.findings import unreachable_clusters
from webapp.findings.signals import findings_changed
from webapp.fleet.freshness import MISSED_CYCLES_UNTIL_UNREACHABLE
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import MAX_SHARD_SIZE, SILENCE_FIELDS, ClusterQuerySet
from webapp.lib.chunks import chunks
from webapp.lib.row_updates import write
from webapp.profiles import thread_dump_requests as thread_dumps
from webapp.storage.audit_findings import evidence_source
from webapp.work.keys import COLLECT_SLOW
from webapp.work.lake import lake
from webapp.work.lease import Lease
from webapp.work.models import DueWork
from webapp.work.runs import RunRecord
from webapp.work.texts import storable

SAVED_AT_ONCE = 50

SLOW_S = 5.0
"""A healthy JobManager takes a second or two for all requests; a silent one takes its time-out."""

MOST_STALL_S = 2.0
"""If Weir's own process stood still for longer, the cluster is not blamed for its silence."""

OUTCOME_FIELDS = (
    "cursor",
    "last_collected_at",
    "last_success_at",
    "last_error",
    "last_requests",
    "last_skips",
    "jobs_seen",
    *SILENCE_FIELDS,
    "slow_since",
    "flink_version",
    "sampled_every_s",
    "log_store_read_from",
    "log_store_read_to",
    "log_store_error",
)


def collect_shard_of(shard: int, lease: Lease, record: RunRecord) -> None:
    clusters = {
        cluster.name: cluster
        for cluster in Cluster.objects.collected().filter(shard=shard, slow_since__isnull=True)
    }
    read_names = _collect(clusters, lease, record, stragglers_after_s=SLOW_S)
    now = timezone.now()
    stragglers = [cluster for name, cluster in clusters.items() if name not in read_names]
    for cluster in stragglers:
        cluster.slow_since = now
        record.say(f"{cluster.name}: it takes long to answer, and is read by itself from now on")
    if any(cluster.slow_since for cluster in clusters.values()):
        with lease.writing():
            write(stragglers, ("slow_since",))
            DueWork.objects.make_due(COLLECT_SLOW, settings.WEIR.collect_interval_s, now)


def collect_slow(lease: Lease, record: RunRecord) -> None:
    """The slow clusters of all shards, beginning with those read longest ago."""
    oldest = slow_clusters().order_by(F("last_collected_at").asc(nulls_first=True), "pk")[
        :MAX_SHARD_SIZE
    ]
    _collect({cluster.name: cluster for cluster in oldest}, lease, record)


def slow_clusters() -> ClusterQuerySet:
    return Cluster.objects.collected().filter(slow_since__isnull=False)


def _collect(
    clusters: dict[str, Cluster],
    lease: Lease,
    record: RunRecord,
    *,
    stragglers_after_s: float | None = None,
) -> set[str]:
    """Collect from the clusters and save their outcomes; returns the names of the clusters that were
    read. Other clusters took longer than ``stragglers_after_s``.
    """
    sources, broken = _sources(list(clusters.values()))
    cursors = {source.name: clusters[source.name].cursor for source in sources}
    started_at = timezone.now()
    save_outcomes(broken, clusters, started_at, lease)
    outcomes = broken
    if sources:
        outcomes += collect_shard(
            sources,
            cursors,
            lake(),
            at=timezone.now,
            cycle_s=settings.WEIR.judged_every_s,
            committed=lambda group: save_outcomes(group, clusters, started_at, lease),
            stragglers_after_s=stragglers_after_s,
        )
    if any(cluster.unreachable_since == started_at for cluster in clusters.values()):
        # A tick does this too, but the next tick may be 15 s away.
        unreachable_clusters.watch(timezone.now())
        findings_changed.send(sender=None)
    unreachable = [outcome for outcome in outcomes if not outcome.reachable]
    record.counts |= {
        "clusters": len(outcomes),
        "unreachable": len(unreachable),
        "jobs": sum(outcome.jobs_seen for outcome in outcomes),
        "requests": sum(outcome.requests for outcome in outcomes),
        "records": sum(outcome.records for outcome in outcomes),
        "skips": sum(outcome.skips for outcome in outcomes),
    }
    record.say(
        f"{len(outcomes)} clusters asked, {len(unreachable)} did not answer, "
        f"{record.counts['records']} records"
    )
    for outcome in unreachable:
        record.say(f"{outcome.cluster}: {outcome.error}")
    return {outcome.cluster for outcome in outcomes}


def save_outcomes(
    outcomes: Sequence[ClusterOutcome], clusters: dict[str, Cluster], at: datetime, lease: Lease
) -> None:
    changed = [
        _apply_outcome(clusters[outcome.cluster], outcome, at)
        for outcome in outcomes
        if outcome.cluster in clusters
    ]
    for part in chunks(changed, SAVED_AT_ONCE):
        with lease.writing():
            write(part, OUTCOME_FIELDS)
    for outcome in outcomes:
        if outcome.thread_dumps:
            with lease.writing():
                thread_dumps.keep(outcome.cluster, outcome.thread_dumps)


def _apply_outcome(cluster: Cluster, outcome: ClusterOutcome, at: datetime) -> Cluster:
    cluster.cursor = storable(outcome.cursor)
    cluster.last_collected_at = at
    cluster.last_error = storable(outcome.error)
    cluster.last_requests, cluster.last_skips, cluster.jobs_seen = (
        outcome.requests,
        outcome.skips,
        outcome.jobs_seen,
    )
    cluster.sampled_every_s = outcome.metrics_interval_s
    if log_store := outcome.log_store:
        cluster.log_store_read_from = log_store.read_from
        cluster.log_store_read_to = log_store.read_to
        cluster.log_store_error = storable(log_store.error)
    is_cluster_at_fault = not outcome.reachable and outcome.stalled_s < MOST_STALL_S
    if outcome.took_s < SLOW_S and not outcome.files_late:
        cluster.slow_since = None
    elif outcome.files_late or is_cluster_at_fault:
        cluster.slow_since = cluster.slow_since or at
    if outcome.reachable:
        cluster.last_success_at, cluster.unreachable_since, cluster.failing_since = at, None, None
        cluster.consecutive_failures = cluster.consecutive_refusals = 0
        cluster.flink_version = storable(outcome.flink_version) or cluster.flink_version
    elif is_cluster_at_fault:
        cluster.consecutive_failures += 1
        cluster.consecutive_refusals = cluster.consecutive_refusals + 1 if outcome.refused else 0
        cluster.failing_since = cluster.failing_since or at
        if cluster.missed_cycles >= MISSED_CYCLES_UNTIL_UNREACHABLE:
            cluster.unreachable_since = cluster.unreachable_since or at
    return cluster


def _sources(clusters: Sequence[Cluster]) -> tuple[list[ClusterSource], list[ClusterOutcome]]:
    """The sources to read, and the outcomes of clusters whose secret cannot be read."""
    sources, broken, metadata = [], [], evidence_source()
    dumps = thread_dumps.wanted_of([cluster.name for cluster in clusters], timezone.now())
    for cluster in clusters:
        try:
            source = replace(
                cluster.source(),
                metadata=metadata,
                thread_dumps=dumps.get(cluster.name, ()),
            )
            sources.append(source)
        except ImproperlyConfigured as error:
            broken.append(
                ClusterOutcome(
                    cluster.name, reachable=False, error=str(error), cursor=cluster.cursor
                )
            )
    return sources, broken
