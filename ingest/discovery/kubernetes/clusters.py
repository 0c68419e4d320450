import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any
from urllib.parse import urlsplit

from ingest.discovery.kubernetes.reports import report_of
from ingest.discovery.naming import fill
from ingest.discovery.operator_report import OperatorReport
from ingest.discovery.pods import Pod
from ingest.discovery.sources import KubernetesSource, RefusedTarget
from ingest.discovery.target_groups import MAX_VALUE, Target
from ingest.messages import message
from ingest.redaction.texts import redact

META = "__meta_kubernetes_"
KEPT_LABELS = ("team", "environment", "region")
"""Clusters always get these labels, others only if the source names them."""

_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9_]")

Summary = Mapping[str, Any]


@dataclass(slots=True)
class ListedObjects:
    """``events`` and ``pods`` are None if Weir may not read them. ``has_all_owners``: a snapshot's
    job resource that is not listed does not exist.
    """

    deployments: list[Summary] = field(default_factory=list)
    session_jobs: list[Summary] = field(default_factory=list)
    services: list[Summary] = field(default_factory=list)
    leaders: list[Summary] = field(default_factory=list)
    snapshots: list[Summary] = field(default_factory=list)
    blue_greens: list[Summary] = field(default_factory=list)
    events: list[Summary] | None = None
    pods: list[Summary] | None = None
    has_all_owners: bool = False


def targets(
    source: KubernetesSource, listing: ListedObjects
) -> tuple[list[Target], list[RefusedTarget]]:
    deployments = {_id(deployment): deployment for deployment in listing.deployments}
    services = {
        (service["namespace"], service["cluster_id"]): service for service in listing.services
    }
    leaders = {(leader["namespace"], leader["cluster_id"]): leader for leader in listing.leaders}
    session_jobs = _group_by_owner(
        (job["namespace"], job["deployment"], job) for job in listing.session_jobs
    )
    pairs = _blue_green_pairs(listing)
    standby = {_id(deployment): key for key, pair in pairs.items() for deployment in pair.standby}
    # Snapshots of a colour that was deleted are still the job's.
    cluster_of = {
        ("FlinkDeployment", pair.namespace, f"{pair.name}-{colour}"): key
        for key, pair in pairs.items()
        for colour in ("blue", "green")
    }
    cluster_of |= {("FlinkDeployment", *key): standby.get(key, key) for key in deployments}
    cluster_of |= {
        ("FlinkSessionJob", *_id(job)): (job["namespace"], job["deployment"])
        for job in listing.session_jobs
    }
    events = None if listing.events is None else _group_by_cluster(listing.events, cluster_of)
    snapshots = _group_by_cluster(listing.snapshots, cluster_of)
    pods = _group_by_owner((pod["namespace"], pod["cluster_id"], pod) for pod in listing.pods or ())
    cluster_targets, notes = [], _left_snapshots(listing, cluster_of)
    for key in sorted({*deployments, *services, *leaders} - standby.keys()):
        deployment, service, leader = deployments.get(key), services.get(key), leaders.get(key)
        if deployment is None and service is None and leader is not None and not leader["url"]:
            notes.append(
                RefusedTarget(
                    f"ConfigMap {'/'.join(_id(leader))}",
                    "it has no leader now; it stays unchanged",
                    ".".join(key),
                )
            )
            continue
        report, pair = None, pairs.get(key)
        others = pair.standby if pair else ()
        if deployment is not None:
            cluster_events = None if events is None else events.get(key, [])
            report = report_of(
                deployment,
                [*session_jobs.get(key, []), *others],
                cluster_events,
                snapshots.get(key, []),
                pair.resource if pair else None,
            )
        target = _target(source, key, deployment, service, leader, report)
        if pair:
            target = replace(target, labels={**target.labels, **_pair_labels(pair)})
        if listing.pods is not None:
            job_id = deployment["job_id"] if deployment and others else _only_job(report)
            cluster_pods = _with_job(pods.get(key, []), job_id)
            for other in others:
                cluster_pods += _with_job(pods.get(_id(other), []), other["job_id"])
            target = replace(target, pods=cluster_pods)
        cluster_targets.append(target)
    return cluster_targets, notes


@dataclass(frozen=True, slots=True)
class BlueGreenPair:
    """``standby``: the ``FlinkDeployment`` that is not active. ``resource``: None if unread."""

    namespace: str
    name: str
    standby: tuple[Summary, ...]
    resource: Summary | None


def _blue_green_pairs(listing: ListedObjects) -> dict[tuple[str, str], BlueGreenPair]:
    """By the ``FlinkDeployment`` that is active: during a transition, the one from which it leads
    (``FlinkBlueGreenDeploymentState``).
    """
    taken = {_id(deployment) for deployment in listing.deployments}
    resources = {_id(resource): resource for resource in listing.blue_greens}
    members = _group_by_owner(
        (deployment["namespace"], deployment["blue_green"], deployment)
        for deployment in listing.deployments
        if deployment["blue_green"]
    )
    pairs = {}
    for (namespace, name), deployments in members.items():
        if (namespace, name) in taken:
            continue
        resource = resources.get((namespace, name))
        state = resource["state"] if resource else ""
        leads, _, colour = state.rpartition("_")
        if leads == "TRANSITIONING_TO":
            colour = "GREEN" if colour == "BLUE" else "BLUE"
        active, *standby = sorted(
            deployments,
            key=lambda deployment: (
                deployment["colour"] != colour,
                deployment["started_at_ms"] or inf,
                deployment["name"],
            ),
        )
        pairs[_id(active)] = BlueGreenPair(namespace, name, tuple(standby), resource)
    return pairs


def _pair_labels(pair: BlueGreenPair) -> dict[str, str]:
    own = pair.resource["labels"] if pair.resource else {}
    labels = {name: redact(own[name]) for name in KEPT_LABELS if own.get(name)}
    return labels | {f"{META}name": pair.name, "cluster": f"{pair.namespace}.{pair.name}"}


def _left_snapshots(
    listing: ListedObjects, cluster_of: Mapping[tuple[str, str, str], tuple[str, str]]
) -> list[RefusedTarget]:
    """Savepoints whose job resource is gone: the operator disposes of a savepoint through its job
    (``StateSnapshotReconciler``), so it deletes none of them.
    """
    left = Counter(
        (kind, snapshot["namespace"], name)
        for snapshot in (listing.snapshots if listing.has_all_owners else ())
        for kind, name in [snapshot["of"]]
        if name and snapshot["is_savepoint"] and snapshot["state"] == "COMPLETED"
        if (kind, snapshot["namespace"], name) not in cluster_of
    )
    return [
        RefusedTarget(
            f"{kind} {namespace}/{name}",
            message(
                "it is gone, and {count:count} savepoints of its FlinkStateSnapshot resources are "
                "left: the operator cannot dispose of them; delete only files that an audit of "
                "the storage proves unneeded",
                count=count,
            ),
        )
        for (kind, namespace, name), count in sorted(left.items())
    ]


def _target(
    source: KubernetesSource,
    key: tuple[str, str],
    deployment: Summary | None,
    service: Summary | None,
    leader: Summary | None,
    report: OperatorReport | None,
) -> Target:
    namespace, cluster_id = key
    resource = deployment or service or leader or {"labels": {}}
    port = (service or deployment or {"port": 0})["port"]
    values = {
        "namespace": namespace,
        "name": cluster_id,
        "service": f"{cluster_id}-rest",
        "port": str(port),
    }
    texts = {name: redact(text) for name, text in resource["labels"].items()}
    labels = {
        f"{META}label_{_NOT_IN_LABELS.sub('_', name)}"[:64]: text for name, text in texts.items()
    }
    labels |= {name: texts[name] for name in KEPT_LABELS if texts.get(name)}
    labels |= {f"{META}{name}": text for name, text in values.items()}
    labels |= {"namespace": namespace, "cluster": f"{namespace}.{cluster_id}"}
    url = (
        leader["url"]
        if leader and leader["url"] and source.leader
        else fill(source.address, values)
    )
    address, location = _split_url(url)
    return Target(address, labels | location, report)


def _only_job(report: OperatorReport | None) -> str:
    job_ids = {job.job_id for job in report.jobs} if report else set()
    return job_ids.pop() if len(job_ids) == 1 else ""


def _with_job(pods: Iterable[Summary], job_id: str) -> tuple[Pod, ...]:
    return tuple(replace(summary["pod"], job_id=job_id) for summary in pods)


def _split_url(url: str) -> tuple[str, dict[str, str]]:
    scheme, mark, after_scheme = url.rpartition("://")
    try:
        parts = urlsplit(f"//{after_scheme}")
    except ValueError:
        return url[:MAX_VALUE], {}
    labels = {"__scheme__": scheme} if mark else {}
    return parts.netloc, labels | ({"__metrics_path__": parts.path} if parts.path else {})


def _id(resource: Summary) -> tuple[str, str]:
    return resource["namespace"], resource["name"]


def _group_by_owner(
    pairs: Iterable[tuple[str, str, Summary]],
) -> dict[tuple[str, str], list[Summary]]:
    resources_by_owner: dict[tuple[str, str], list[Summary]] = defaultdict(list)
    for namespace, name, resource in pairs:
        resources_by_owner[namespace, name].append(resource)
    return resources_by_owner


def _group_by_cluster(
    summaries: Iterable[Summary], cluster_of: Mapping[tuple[str, str, str], tuple[str, str]]
) -> dict[tuple[str, str], list[Summary]]:
    """Events or snapshots by cluster. ``of``: kind and name of a resource."""
    pairs = []
    for summary in summaries:
        kind, name = summary["of"]
        cluster = cluster_of.get((kind, summary["namespace"], name))
        if cluster is not None:
            pairs.append((*cluster, summary))
    return _group_by_owner(pairs)
