"""The demo's tour on top of the fleet page: from the worst job to adding an own cluster."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext

from ingest.replay.shipped import ROOTS
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.demo import LABEL, LABEL_VALUE
from webapp.fleet.models import OVER, Cluster, JobCurrent
from webapp.fleet.sorting import WORST_FIRST
from webapp.lib.filters import words
from webapp.lib.instants import epoch_ms
from webapp.lib.quantities import bytes_text
from webapp.storage.newest_audits import latest

ORIGIN_RULE = "pressure.root"
WENT_COOKIE = "weir_demo_went"
"""Slugs of the stops that were followed in this browser, as ``static/js/page.js`` keeps them."""


@dataclass(frozen=True, slots=True)
class Stop:
    slug: str
    title: str
    what: str
    url: str
    went: bool = False


def stops(clusters: Sequence[Cluster], now: datetime, went: str = "") -> list[Stop]:
    """The stops with something to see; empty without a demo."""
    names = [cluster.name for cluster in clusters if cluster.labels.get(LABEL) == LABEL_VALUE]
    if not names:
        return []
    seen = went.split(".")
    candidates = [
        _sickest(names, now, seen),
        _failed_stop(names, seen),
        _origin(names, seen),
        _orphans(seen),
    ]
    own = Stop(
        "own",
        gettext("Your own"),
        gettext("Add a cluster"),
        reverse("cluster-add"),
        len(names) < len(clusters),
    )
    return [*filter(None, candidates), own]


def _sickest(names: Sequence[str], now: datetime, seen: Collection[str]) -> Stop | None:
    newest = JobCurrent.objects.newest_attempts().with_status(now)
    jobs = newest.filter(cluster__in=names).exclude(OVER)
    job = (
        jobs.annotate(sort_key=WORST_FIRST.key)
        .order_by("-sort_key" if WORST_FIRST.descending else "sort_key", "-id")
        .first()
    )
    if not job:
        return None
    return Stop(
        "job",
        gettext("Sickest job"),
        job.name or job.job_id,
        reverse("job", args=(job.cluster, job.job_id)),
        "job" in seen,
    )


def _failed_stop(names: Sequence[str], seen: Collection[str]) -> Stop | None:
    fact = (
        CheckpointFact.objects.filter(cluster__in=names, outcome="declined")
        .order_by("-trigger_time")
        .first()
    )
    fact = (
        fact
        or CheckpointFact.objects.filter(cluster__in=names, outcome__in=FAILED_OUTCOMES)
        .order_by("-trigger_time")
        .first()
    )
    if not fact:
        return None
    url = reverse(
        "checkpoint",
        args=(fact.cluster, fact.job_id, fact.checkpoint_id, epoch_ms(fact.trigger_time)),
    )
    return Stop(
        "checkpoint",
        gettext("Failed checkpoint"),
        f"{fact.checkpoint_id} {words(fact.outcome)}",
        url,
        "checkpoint" in seen,
    )


def _origin(names: Sequence[str], seen: Collection[str]) -> Stop | None:
    finding = (
        Finding.objects.filter(cluster__in=names, rule=ORIGIN_RULE)
        .order_by("-last_seen")
        .only("subject")
        .first()
    )
    if not finding:
        return None
    return Stop(
        "origin",
        gettext("Origin of back-pressure"),
        finding.subject,
        reverse("finding", args=(finding.pk,)),
        "origin" in seen,
    )


def _orphans(seen: Collection[str]) -> Stop | None:
    figures = (
        latest().filter(root__in=ROOTS, orphan_files__gt=0).order_by("-orphan_bytes", "-id").first()
    )
    if not figures:
        return None
    what = gettext("%(orphan_bytes)s of %(name)s") % {
        "orphan_bytes": bytes_text(figures.orphan_bytes),
        "name": ROOTS[figures.root].name,
    }
    return Stop(
        "orphans",
        gettext("Orphans"),
        what,
        f"{reverse('storage-root')}?{urlencode({'uri': figures.root})}",
        "orphans" in seen,
    )
