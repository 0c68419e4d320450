"""Weir's own metrics as Prometheus text; :mod:`webapp.site.job_exposition` has the metrics of jobs.
Both are read from the database at each scrape: counters of the client library would differ between
web processes. A new metric needs its ``yield`` in this module, a panel of
``monitoring/weir-dashboard.json`` or a rule of ``monitoring/weir.rules.yml``, and then cases in
``tests/webapp/monitoring/weir.rules.test.yml``.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.conf import settings
from django.db.models import Count

from spark_jobs.storage_words import VERDICTS
from webapp.alerting.choices import AlertState
from webapp.alerting.models import Alert
from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery, Endpoint
from webapp.findings.choices import Severity
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.pipeline_status import disk_budget
from webapp.fleet.pipeline_status.status import status
from webapp.storage.models import StorageRoot
from webapp.storage.newest_audits import latest
from webapp.storage.presentation import MISSING
from webapp.work.models import DueWork, KeptSize, Manifest

Sample = tuple[dict[str, str], float]
Metric = tuple[str, str, Iterable[Sample]]
"""Name, meaning, samples."""

DATABASE = (
    "weir_database_up",
    "1 while the database answers; while it does not, nothing else is known.",
)
UP = ("weir_up", "1 while nothing in the pipeline is wrong.")


def without_database() -> str:
    return metric_text(*DATABASE, [({}, 0)]) + metric_text(*UP, [({}, 0)])


def render(now: datetime) -> str:
    return "".join(metric_text(*metric) for metric in _metrics(now))


def _metrics(now: datetime) -> Iterator[Metric]:
    yield *DATABASE, [({}, 1)]
    yield from _pipeline(now)
    yield from _clusters(now)
    yield from _alerts()
    yield from _storage()
    yield from _deliveries(now)
    yield from _room()


def _pipeline(now: datetime) -> Iterator[Metric]:
    current = status(now)
    yield *UP, [({}, float(current.is_healthy))]
    yield (
        "weir_problem",
        "1 for everything that does not run as it should.",
        [({"code": problem.code, "subject": problem.subject}, 1) for problem in current.problems],
    )
    yield (
        "weir_collected_timestamp_seconds",
        "Newest answer of any live cluster.",
        _instant(current.collected_at),
    )
    yield (
        "weir_spark_timestamp_seconds",
        "Newest cycle that found all of the lake loaded.",
        _instant(current.spark_at),
    )
    yield (
        "weir_work_failures",
        "Consecutive failures, by due work.",
        [({"work": row.key}, row.failures) for row in DueWork.objects.all()],
    )
    yield (
        "weir_lake_restarts",
        "How often the whole lake was read again (30 days), because a run directory was lost.",
        [({}, Manifest.objects.filter(restarted__isnull=False).count())],
    )


def _clusters(now: datetime) -> Iterator[Metric]:
    clusters = Cluster.objects.live().filter(left_at__isnull=True).defer("cursor", "pods")
    yield (
        "weir_cluster_visibility",
        (
            "How each cluster is seen now: live, unreachable (it does not answer), new, paused, "
            "broken or suspended (by its operator)."
        ),
        [
            ({"cluster": cluster.name, "visibility": cluster.visibility_at(now).value}, 1)
            for cluster in clusters
        ],
    )
    newest = JobCurrent.objects.newest_attempts().with_status(now)
    states = newest.values_list("status").annotate(jobs=Count("id"))
    yield (
        "weir_jobs",
        "Jobs by the state shown.",
        [({"state": state or "UNKNOWN"}, jobs) for state, jobs in states.order_by("status")],
    )


def _deliveries(now: datetime) -> Iterator[Metric]:
    counts = dict(Delivery.objects.order_by().values_list("state").annotate(rows=Count("id")))
    yield (
        "weir_deliveries",
        "Deliveries of the last 30 days, by state.",
        [({"state": state}, counts.get(state, 0)) for state in DeliveryState.values],
    )
    pending = Delivery.objects.pending().order_by("made_at")
    oldest = pending.values_list("made_at", flat=True).first()
    yield (
        "weir_delivery_oldest_pending_seconds",
        "Age of the oldest pending delivery.",
        [({}, max((now - oldest).total_seconds(), 0) if oldest else 0.0)],
    )
    disabled = Endpoint.objects.filter(enabled=False).count()
    yield "weir_endpoints_disabled", "Endpoints that are not notified.", [({}, disabled)]


def _alerts() -> Iterator[Metric]:
    """Has a sample for each state and severity, also if it is 0."""
    groups = Alert.objects.open().order_by().values_list("state", "severity")
    counts = {tuple(key): count for *key, count in groups.annotate(alerts=Count("id"))}
    yield (
        "weir_alerts",
        "Open alerts, by state and severity.",
        [
            ({"state": state, "severity": severity}, counts.get((state, severity), 0))
            for state in (AlertState.PENDING.value, AlertState.FIRING.value)
            for severity in (Severity.WARNING.value, Severity.CRITICAL.value)
        ],
    )
    yield (
        "weir_alerts_waiting",
        "Firing alerts that are neither muted nor acknowledged.",
        [({}, Alert.objects.unacknowledged().count())],
    )


def _storage() -> Iterator[Metric]:
    roots = list(latest().order_by("root"))
    yield (
        "weir_storage_bytes",
        "Bytes of checkpoint storage, by verdict.",
        [
            ({"root": row.root, "verdict": name}, getattr(row, f"{name}_bytes"))
            for row in roots
            for name in (*VERDICTS, MISSING)
        ],
    )
    yield (
        "weir_storage_audited_timestamp_seconds",
        "When the listing of the newest audit began.",
        [({"root": row.root}, row.as_of.timestamp()) for row in roots],
    )
    uris = StorageRoot.objects.audited().values_list("uri", flat=True)
    yield (
        "weir_storage_audit_interval_seconds",
        "Audit interval of each registered root that is not paused.",
        [({"root": uri}, 3600.0 * settings.WEIR.storage_audit_h) for uri in uris],
    )


def _room() -> Iterator[Metric]:
    free = [({"folder": str(folder)}, float(size)) for folder, size in disk_budget.disks()]
    yield "weir_disk_free_bytes", "Free space on each disk that Weir writes to.", free
    yield (
        "weir_disk_least_free_bytes",
        "Free space below which nothing is collected (WEIR_LEAST_FREE_MB).",
        [({}, settings.WEIR.least_free_mb * 1e6)],
    )
    yield (
        "weir_collecting_stopped",
        "1 while nothing is collected because disk space is low.",
        [({}, float(bool(disk_budget.problems())))],
    )
    sizes = KeptSize.objects.order_by("area").values_list("area", "size_bytes")
    yield (
        "weir_kept_bytes",
        "Bytes that Weir stores, by area, as last measured.",
        [({"area": area}, float(size or 0)) for area, size in sizes],
    )


def _instant(at: datetime | None) -> list[Sample]:
    return [({}, at.timestamp())] if at else []


def metric_text(name: str, meaning: str, samples: Iterable[Sample]) -> str:
    """A gauge with its samples, as lines of Prometheus's text format."""
    lines = [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escape(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{pairs}}} {value:.17g}" if pairs else f"{name} {value:.17g}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
