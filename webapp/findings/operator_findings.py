"""Judges what the operator of a Kubernetes says of clusters. A source that cannot be read changes
no finding.
"""

from collections.abc import Collection
from dataclasses import fields
from datetime import datetime
from typing import Any

from ingest.json_members import as_object, object_list
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.operator_samples import OperatorStatus, StateSnapshot
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings.models import Finding
from webapp.findings.overrides import as_plain
from webapp.findings.settling import Identity, by_identity, identified, settle
from webapp.fleet.choices import OperatorState
from webapp.fleet.models import Cluster
from webapp.lib.instants import epoch_ms
from webapp.work.lease import WriteGuard

_SNAPSHOT = tuple(field.name for field in fields(StateSnapshot))


def watch(guard: WriteGuard, names: Collection[str], now: datetime) -> None:
    """Open, renew and close the findings of these clusters. Where a rule fails, they stay."""
    settings = Settings(as_plain())
    rules = registry.rules_for(OperatorStatus)
    found: dict[Identity, dict[str, Any]] = {}
    judged_names = set(names)
    clusters = Cluster.objects.collected().filter(name__in=names)
    for cluster in clusters.only("name", "operator", "operator_state"):
        limits = settings.limits(cluster.name, "")
        judged = registry.diagnose(_status(cluster, now), limits)
        if judged.unknowns:
            judged_names.discard(cluster.name)
        else:
            found |= identified(judged.findings, cluster.name)
    watched = Finding.objects.open().filter(rule__in=rules, cluster__in=judged_names)
    settle(found, by_identity(watched), guard, now)


def _status(cluster: Cluster, now: datetime) -> OperatorStatus:
    report: dict[str, Any] = as_object(cluster.operator)
    return OperatorStatus(
        cluster.name,
        epoch_ms(now),
        tuple(
            (str(entry["resource"]), str(entry["error"]))
            for entry in (report, *object_list(report, "jobs"))
            if entry.get("resource") and entry.get("error")
        ),
        cluster.operator_state == OperatorState.BROKEN,
        tuple(
            StateSnapshot(**{name: entry[name] for name in _SNAPSHOT if name in entry})
            for entry in object_list(report, "snapshots")
            if "name" in entry
        ),
    )
