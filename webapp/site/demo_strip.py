"""The way through the demo that leads the fleet page: from the sickest job to adding a cluster of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.querysets import trigger_ms
from webapp.findings.models import Finding
from webapp.fleet.demo import LABEL, LABEL_VALUE
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.sorting import WORST_FIRST

ORIGIN_RULE = "pressure.root"


@dataclass(frozen=True, slots=True)
class Stop:
    """``url`` is empty where there is nothing to be seen yet, which ``what`` then says."""

    title: str
    what: str
    url: str = ""


def stops(clusters: Sequence[Cluster], now: datetime) -> list[Stop]:
    """Empty where no demo is watched."""
    names = [cluster.name for cluster in clusters if cluster.labels.get(LABEL) == LABEL_VALUE]
    if not names:
        return []
    return [_sickest(names, now), _failed(names), _origin(names), _orphans(), Stop("5 Your own", "Add a cluster", reverse("cluster-add"))]


def _sickest(names: Sequence[str], now: datetime) -> Stop:
    jobs = JobCurrent.objects.with_status(now).filter(cluster__in=names).exclude(terminal=True)
    job = jobs.annotate(sort_key=WORST_FIRST.key).order_by("-sort_key" if WORST_FIRST.descending else "sort_key", "-id").first()
    title = "1 Sickest job"
    return Stop(title, job.name or job.job_id, reverse("job", args=(job.cluster, job.job_id))) if job else Stop(title, "none is seen yet")


def _failed(names: Sequence[str]) -> Stop:
    found = CheckpointFact.objects.filter(cluster__in=names, outcome="declined").order_by("-trigger_time").first()
    found = found or CheckpointFact.objects.filter(cluster__in=names, outcome__in=FAILED_OUTCOMES).order_by("-trigger_time").first()
    title = "2 Failed checkpoint"
    if not found:
        return Stop(title, "none is seen yet")
    url = reverse("checkpoint", args=(found.cluster, found.job_id, found.checkpoint_id, trigger_ms(found.trigger_time)))
    return Stop(title, f"{found.checkpoint_id} {found.outcome}", url)


def _origin(names: Sequence[str]) -> Stop:
    found = Finding.objects.filter(cluster__in=names, rule=ORIGIN_RULE).order_by("-last_seen").only("subject").first()
    title = "3 Origin of back-pressure"
    return Stop(title, found.subject, reverse("finding", args=(found.pk,))) if found else Stop(title, "none is found yet")


def _orphans() -> Stop:
    return Stop("4 Orphans", "Storage", reverse("storage"))
