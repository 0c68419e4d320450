"""The links of the demo at the top of the fleet page: from the worst job to a form that adds the
reader's own cluster.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext

from ingest.replay.shipped import ROOTS
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.demo import LABEL, LABEL_VALUE
from webapp.fleet.models import OVER, Cluster, JobCurrent
from webapp.fleet.sorting import worst_first
from webapp.lib.filters import words
from webapp.lib.instants import epoch_ms
from webapp.lib.quantities import bytes_text
from webapp.storage.newest_audits import latest

ORIGIN_RULE = "pressure.root"


@dataclass(frozen=True, slots=True)
class Stop:
    title: str
    what: str
    url: str


def stops(clusters: Sequence[Cluster], now: datetime) -> list[Stop]:
    """Stops that have something to show; none without a demo."""
    names = [cluster.name for cluster in clusters if cluster.labels.get(LABEL) == LABEL_VALUE]
    return list(_stops(names, now)) if names else []


def _stops(names: Sequence[str], now: datetime) -> Iterator[Stop]:
    jobs = JobCurrent.objects.newest_attempts().with_status(now).filter(cluster__in=names)
    if job := jobs.exclude(OVER).order_by(worst_first(), "-id").first():
        url = reverse("job", args=(job.cluster, job.job_id))
        yield Stop(gettext("Sickest job"), job.name or job.job_id, url)
    facts = CheckpointFact.objects.filter(cluster__in=names).order_by("-trigger_time")
    failed = facts.filter(outcome__in=FAILED_OUTCOMES)
    if fact := facts.filter(outcome="declined").first() or failed.first():
        triggered_ms = epoch_ms(fact.trigger_time)
        address = fact.cluster, fact.job_id, fact.checkpoint_id, triggered_ms
        what = f"{fact.checkpoint_id} {words(fact.outcome)}"
        yield Stop(gettext("Failed checkpoint"), what, reverse("checkpoint", args=address))
    origins = Finding.objects.filter(cluster__in=names, rule=ORIGIN_RULE)
    if origin := origins.order_by("-last_seen").only("subject").first():
        url = reverse("finding", args=(origin.pk,))
        yield Stop(gettext("Origin of back-pressure"), origin.subject, url)
    with_orphans = latest().filter(root__in=ROOTS, orphan_files__gt=0)
    if figures := with_orphans.order_by("-orphan_bytes", "-id").first():
        what = gettext("%(orphan_bytes)s of %(name)s") % {
            "orphan_bytes": bytes_text(figures.orphan_bytes),
            "name": ROOTS[figures.root].name,
        }
        url = reverse("storage-root", query={"uri": figures.root})
        yield Stop(gettext("Orphans"), what, url)
    yield Stop(gettext("Your own"), gettext("Add a cluster"), reverse("cluster-add"))
