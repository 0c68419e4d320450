import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count
from django.urls import reverse

from ingest.messages import join_messages
from spark_jobs.diagnosis.registry import all_rules
from webapp.alerting.choices import UNREACHABLE
from webapp.alerting.models import Alert
from webapp.delivery.notices import FIRING, MOST_MUTED, RESOLVED, NoticeAlert
from webapp.findings.known_bugs import BugBeside, bugs_beside
from webapp.findings.models import Finding
from webapp.incidents.models import Incident


@dataclass(frozen=True)
class Facts:
    """Facts of other rows. ``muted``: alert key → number and first names of muted alerts.
    ``causes``: uid of an incident → key and title of its cause. ``known_bugs``: finding key → bugs.
    """

    muted: dict[int, tuple[int, tuple[str, ...]]]
    causes: dict[str, tuple[int | None, str]]
    known_bugs: Mapping[int, tuple[BugBeside, ...]]

    @classmethod
    def read(cls, rows: Sequence[Alert]) -> "Facts":
        parents = [row.pk for row in rows if row.rule == UNREACHABLE]
        incidents = Incident.objects.filter(
            uid__in={row.incident_id for row in rows if row.incident_id}
        )
        causes = incidents.values_list("uid", "cause", "cause__title", "title")
        return cls(
            muted_names(parents),
            {uid: (cause, title or incident) for uid, cause, title, incident in causes},
            bugs_beside(row.finding for row in rows if row.finding),
        )

    def is_cause(self, row: Alert) -> bool:
        cause, _title = self.causes.get(row.incident_id or "", (None, ""))
        return cause is not None and cause == row.finding_id

    def cause_of(self, finding: Finding | Alert) -> str:
        """The cause and the known bugs that it does not name."""
        bugs = self.known_bugs.get(finding.pk, ()) if isinstance(finding, Finding) else ()
        sentences = [beside.sentence for beside in bugs if beside.bug.issue not in finding.cause]
        return join_messages((finding.cause, *sentences), " ") if sentences else finding.cause

    def in_order(self, rows: Sequence[Alert]) -> list[Alert]:
        """Open alerts first, then by incident: the worst incident first, in it the cause first."""
        worst: dict[tuple[bool, str], tuple[int, int]] = {}
        for index, row in enumerate(rows):
            key = (row.is_open, row.incident_id or row.uid)
            rank, first = worst.get(key, (0, index))
            worst[key] = (min(rank, -row.severity_rank), first)
        return sorted(
            rows,
            key=lambda row: (
                not row.is_open,
                *worst[row.is_open, row.incident_id or row.uid],
                not self.is_cause(row),
            ),
        )


def muted_names(parents: Sequence[int]) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Muting alert → number of muted alerts, and the names of the 50 worst."""
    if not parents:
        return {}
    muted = Alert.objects.open().filter(inhibited_by__in=parents)
    counts = dict(muted.order_by().values_list("inhibited_by").annotate(Count("id")))
    names: dict[int, list[str]] = defaultdict(list)
    for parent in parents:
        worst = muted.filter(inhibited_by=parent).order_by("-severity_rank", "job_name", "id")
        for row in worst.only("job_name", "job_id", "subject", "rule")[:MOST_MUTED]:
            names[parent].append(f"{row.called[:200]}: {row.rule}")
    return {parent: (counts.get(parent, 0), tuple(names[parent])) for parent in parents}


def fingerprint(row: Alert) -> str:
    return hashlib.sha256("\x1f".join(row.identity).encode()).hexdigest()[:32]


def notice_alert(row: Alert, facts: Facts) -> NoticeAlert:
    status = FIRING if row.is_open else RESOLVED
    texts: Any = row.finding if status == FIRING and row.finding_id and row.finding else row
    is_unseen_end = status != FIRING and bool(row.ended_because)
    muted_count, muted = facts.muted.get(row.pk, (0, ()))
    return NoticeAlert(
        uid=row.uid,
        fingerprint=fingerprint(row),
        status=status,
        rule=row.rule,
        family=row.family,
        severity=row.severity,
        confidence=texts.confidence,
        cluster=row.cluster,
        job_id=row.job_id,
        job_name=row.job_name or "",
        subject_kind=row.subject_kind,
        subject=row.subject,
        title=texts.title,
        cause=row.ended_because if is_unseen_end else facts.cause_of(texts),
        next_step="Look at the job in Flink itself, or register its cluster again."
        if is_unseen_end
        else texts.next_step,
        starts_at=row.starts_at,
        ends_at=None if status == FIRING else row.ends_at,
        evidence=tuple(entry for entry in texts.evidence or () if isinstance(entry, dict)),
        acknowledged_by=row.acknowledged_name or None,
        flapping=row.flapping,
        muted_count=muted_count,
        muted=muted,
        labels=row.labels,
        incident_id=row.incident_id,
        incident_title=""
        if facts.is_cause(row)
        else facts.causes.get(row.incident_id or "", (None, ""))[1],
        links=links(row),
    )


def links(row: Alert) -> dict[str, str]:
    base = str(settings.WEIR.public_url).rstrip("/")
    paths = {"alert": reverse("alert", args=(row.uid,))}
    if row.finding_id:
        paths["finding"] = reverse("finding", args=(row.finding_id,))
    if row.rule in all_rules():
        paths["runbook"] = reverse("rule", args=(row.rule,)) + "#runbook-title"
    if row.incident_id:
        paths["incident"] = reverse("incident", args=(row.incident_id,))
    if row.job_id:
        paths["job"] = reverse("job", args=(row.cluster, row.job_id))
    return {name: base + path for name, path in paths.items()}
