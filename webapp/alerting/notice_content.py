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
    """Facts of other rows. ``muted``: alert key → count and first names. ``causes``: uid of an
    incident → key and title of its cause. ``known_bugs``: by finding.
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
        named = incidents.values_list("uid", "cause", "cause__title", "title")
        return cls(
            muted_names(parents),
            {uid: (cause, now or then) for uid, cause, now, then in named},
            bugs_beside(row.finding for row in rows if row.finding),
        )

    def is_cause(self, row: Alert) -> bool:
        return self.causes.get(row.incident_id or "", (None, ""))[0] == row.finding_id is not None

    def cause_of(self, finding: Finding | Alert) -> str:
        """With known bugs that it does not name itself."""
        beside = self.known_bugs.get(finding.pk, ()) if isinstance(finding, Finding) else ()
        unnamed = [
            exposure.sentence for exposure in beside if exposure.bug.issue not in finding.cause
        ]
        return join_messages((finding.cause, *unnamed), " ") if unnamed else finding.cause

    def in_order(self, rows: Sequence[Alert]) -> list[Alert]:
        """Open first, by incident, the worst incident and its cause first."""
        worst: dict[tuple[bool, str], tuple[int, int]] = {}
        for place, row in enumerate(rows):
            key = (row.is_open, row.incident_id or row.uid)
            known = worst.get(key, (0, place))
            worst[key] = (min(known[0], -row.severity_rank), known[1])
        return sorted(
            rows,
            key=lambda row: (
                not row.is_open,
                *worst[row.is_open, row.incident_id or row.uid],
                not self.is_cause(row),
            ),
        )


def muted_names(parents: Sequence[int]) -> dict[int, tuple[int, tuple[str, ...]]]:
    """How many alerts each mutes, and the 50 worst."""
    if not parents:
        return {}
    muted = Alert.objects.open().filter(inhibited_by__in=parents)
    counts = dict(muted.order_by().values_list("inhibited_by").annotate(Count("id")))
    names: dict[int, list[str]] = defaultdict(list)
    for parent in parents:
        of_parent = muted.filter(inhibited_by=parent).order_by("-severity_rank", "job_name", "id")
        for row in of_parent.only("job_name", "job_id", "subject", "rule")[:MOST_MUTED]:
            names[parent].append(f"{row.called[:200]}: {row.rule}")
    return {parent: (counts.get(parent, 0), tuple(names[parent])) for parent in parents}


def fingerprint(row: Alert) -> str:
    return hashlib.sha256("\x1f".join(row.identity).encode()).hexdigest()[:32]


def notice_alert(row: Alert, facts: Facts) -> NoticeAlert:
    status = FIRING if row.is_open else RESOLVED
    described: Any = row.finding if status == FIRING and row.finding_id and row.finding else row
    unseen_end = status != FIRING and bool(row.ended_because)
    muted_count, muted = facts.muted.get(row.pk, (0, ()))
    return NoticeAlert(
        uid=row.uid,
        fingerprint=fingerprint(row),
        status=status,
        rule=row.rule,
        family=row.family,
        severity=row.severity,
        confidence=described.confidence,
        cluster=row.cluster,
        job_id=row.job_id,
        job_name=row.job_name or "",
        subject_kind=row.subject_kind,
        subject=row.subject,
        title=described.title,
        cause=row.ended_because if unseen_end else facts.cause_of(described),
        next_step="Look at the job in Flink itself, or register its cluster again."
        if unseen_end
        else described.next_step,
        starts_at=row.starts_at,
        ends_at=None if status == FIRING else row.ends_at,
        evidence=tuple(entry for entry in described.evidence or () if isinstance(entry, dict)),
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
    addresses = {"alert": reverse("alert", args=(row.uid,))}
    if row.finding_id:
        addresses["finding"] = reverse("finding", args=(row.finding_id,))
    if row.rule in all_rules():
        addresses["runbook"] = reverse("rule", args=(row.rule,)) + "#runbook-title"
    if row.incident_id:
        addresses["incident"] = reverse("incident", args=(row.incident_id,))
    if row.job_id:
        addresses["job"] = reverse("job", args=(row.cluster, row.job_id))
    return {name: base + path for name, path in addresses.items()}
