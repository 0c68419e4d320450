"""Applies the listing of a source: clusters appear, leave, return or change address."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ingest.discovery.naming import matchers
from ingest.discovery.pods import pods_of, with_removed
from ingest.discovery.sources import DiscoverySource, FoundCluster, Listing, RefusedTarget
from ingest.sources import Auth
from webapp.config import encryption
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, RemovedCluster
from webapp.fleet.models.cluster import SILENCE_FIELDS
from webapp.fleet.registration import Shards
from webapp.lib.instants import epoch_ms
from webapp.work.texts import storable

ROWS_AT_ONCE = 200
REPORTED = frozenset({"operator", "operator_state", "pods"})
"""A change of these columns is no change of the cluster."""
UNREAD = ("cursor", "misses")


@dataclass(frozen=True)
class Changes:
    """Names of clusters. ``refused``: another cluster has the name."""

    came: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    refused: tuple[RefusedTarget, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.came or self.changed or self.left)


def follow(source: DiscoverySource, listing: Listing, now: datetime) -> Changes:
    """A listing with an error removes no clusters. Call it in a transaction."""
    names = [cluster.name for cluster in listing.clusters]
    rows = {row.name: row for row in Cluster.objects.filter(name__in=names).defer(*UNREAD)}
    own_clusters, refused = [], []
    for cluster in listing.clusters:
        row = rows.get(cluster.name)
        if row is None or (row.found_by == source.name and row.kind == ClusterKind.LIVE):
            own_clusters.append(cluster)
        elif row.left_at and row.found_by:
            own_clusters.append(cluster)  # it moved from one source to another
        else:
            by = f"the source {row.found_by}" if row.found_by else "somebody"
            refused.append(
                RefusedTarget(
                    cluster.url,
                    f"a cluster {cluster.name} is registered already, by {by}",
                    cluster.name,
                )
            )
    came, changed = _store(source, own_clusters, rows, now)
    left: list[str] = []
    if not listing.error:
        listed = {
            *(cluster.name for cluster in own_clusters),
            *(target.name for target in listing.refused),
        }
        left = _mark_left(
            source.name,
            listed,
            f"is not listed by its source {source.name} any more, since it was read",
            now,
        )
    return Changes(tuple(came), tuple(changed), tuple(left), tuple(refused))


def forget_sources(declared: Iterable[str], now: datetime) -> list[str]:
    """Clusters of sources that are not ``declared`` leave; returns their names. Call it in a
    transaction.
    """
    found = Cluster.objects.exclude(found_by="").order_by()
    names = set(found.values_list("found_by", flat=True).distinct()) - set(declared)
    return [
        left
        for name in sorted(names)
        for left in _mark_left(name, set(), f"was found by the source {name}, which was gone", now)
    ]


def _store(
    source: DiscoverySource, clusters: list[FoundCluster], rows: dict[str, Cluster], now: datetime
) -> tuple[list[str], list[str]]:
    shards = Shards()
    new, came, to_update, changed = [], [], [], []
    columns = {"found_by", "left_at", "shard", *SILENCE_FIELDS}
    for cluster in clusters:
        row = rows.get(cluster.name)
        if row is None:
            row = Cluster(name=cluster.name, found_by=source.name, shard=shards.take())
            _fill(row, source, cluster, now)
            new.append(row)
            continue
        has_left = row.left_at is not None
        if has_left:
            row.found_by, row.left_at, row.shard = source.name, None, shards.take()
            row.unreachable_since, row.failing_since = None, None
            row.consecutive_failures = row.consecutive_refusals = 0
            came.append(row.name)
        changed_columns = _fill(row, source, cluster, now)
        if changed_columns or has_left:
            to_update.append(row)
            columns |= changed_columns
        if changed_columns - REPORTED and not has_left:
            changed.append(row.name)
    Cluster.objects.bulk_create(new, batch_size=ROWS_AT_ONCE)
    Cluster.objects.bulk_update(to_update, sorted(columns), batch_size=ROWS_AT_ONCE)
    came = [*(row.name for row in new), *came]
    RemovedCluster.objects.filter(name__in=came).delete()
    return came, changed


def _fill(row: Cluster, source: DiscoverySource, cluster: FoundCluster, now: datetime) -> set[str]:
    report = cluster.operator
    pods = with_removed(pods_of(row.pods), cluster.pods or (), epoch_ms(now))
    values: dict[str, Any] = {
        "url": cluster.url,
        "labels": dict(cluster.labels),
        # In the database's form: unchanged values are not written again.
        "operator": storable(json.loads(json.dumps(report.plain()))) if report else {},
        "operator_state": report.state if report else "",
        "pods": storable([asdict(pod) for pod in pods]) if cluster.pods is not None else [],
    }
    if source.auth:
        values |= _sign_in("auth_", "auth_secret_encrypted", source.auth, row)
    elif row.url != cluster.url and row.auth_secret_encrypted:
        # Entered for the former address: another one must not get it.
        values["auth_secret_encrypted"] = ""
    if tls := source.tls:
        values |= {
            "ca_file": tls.ca_file,
            "verify_tls": tls.verify,
            "client_cert_file": tls.client_cert_file,
            "client_key_file": tls.client_key_file,
        }
    if logs := source.logs:
        globs = [glob.replace("{cluster}", cluster.name) for glob in logs.globs]
        values |= {"log_globs": globs, "log_layout": logs.layout, "time_zone": logs.time_zone}
    if prometheus := source.prometheus:
        values |= {
            "prometheus_url": prometheus.url,
            "prometheus_selector": matchers(prometheus.selector, cluster),
            "prometheus_ca_file": prometheus.ca_file,
            "prometheus_tenant": prometheus.tenant,
        } | _sign_in("prometheus_auth_", "prometheus_secret_encrypted", prometheus.auth, row)
    changes = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changes.items():
        setattr(row, name, value)
    return set(changes)


def _sign_in(prefix: str, secret: str, auth: Auth | None, row: Cluster) -> dict[str, str]:
    return {
        f"{prefix}scheme": auth.scheme if auth else "",
        f"{prefix}user": auth.user if auth else "",
        secret: _encrypt(auth.secret, getattr(row, secret)) if auth else "",
    }


def _encrypt(secret: str, stored: str) -> str:
    """Returns ``stored`` if it is the same secret: each encryption gives another text."""
    if not secret:
        return ""
    return stored if stored and encryption.decrypt(stored) == secret else encryption.encrypt(secret)


def _mark_left(source: str, listed: set[str], because: str, now: datetime) -> list[str]:
    """Clusters that are not ``listed`` have left; returns their names."""
    known = Cluster.objects.filter(found_by=source, left_at__isnull=True).values_list("pk", "name")
    gone = [(pk, name) for pk, name in known if name not in listed]
    for start in range(0, len(gone), ROWS_AT_ONCE):
        part = gone[start : start + ROWS_AT_ONCE]
        Cluster.objects.filter(pk__in=[pk for pk, _name in part]).update(
            left_at=now, unreachable_since=None
        )
        RemovedCluster.objects.bulk_create(
            [RemovedCluster(name=name, because=because) for _pk, name in part],
            ignore_conflicts=True,
        )
    return [name for _pk, name in gone]
