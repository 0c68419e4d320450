"""Marked findings → alerts. The same transaction removes the mark, so each is taken once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import F, Q

from webapp.alerting.alert_rows import TEXTS, Written, copy_texts, episode_of, life_of, put
from webapp.alerting.choices import OPEN
from webapp.alerting.incident_alerts import follow, join_incident
from webapp.alerting.lifecycle import FLAP_WINDOW, resolves_at, take
from webapp.alerting.models import Alert
from webapp.alerting.policies import Policies
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.incidents.joining import join
from webapp.incidents.models import Incident
from webapp.lib.chunks import chunks
from webapp.lib.row_updates import write

FINDINGS_AT_ONCE = 500

Identity = tuple[str, str, str, str]


def take_marked(policies: Policies, now: datetime) -> int:
    """Take at most 500, except locked ones; returns how many. Call it in a transaction."""
    marked = (
        Finding.objects.filter(to_alert=True).order_by("id").select_for_update(skip_locked=True)
    )
    findings = list(marked[:FINDINGS_AT_ONCE])
    if not findings:
        return 0
    joined = join(findings, now)
    follow(joined)
    known = _known_alerts(findings)
    written = Written()
    for finding in findings:
        _take(finding, joined.of_finding.get(finding.pk), known, policies, written, now)
    written.save()
    Finding.objects.filter(pk__in=[finding.pk for finding in findings]).update(to_alert=False)
    return len(findings)


def _take(
    finding: Finding,
    incident: Incident | None,
    known: dict[Identity, list[Alert]],
    policies: Policies,
    written: Written,
    now: datetime,
) -> None:
    identity = finding.identity
    rule_policy = policies.rule_policy(
        finding.rule, finding.cluster, finding.job_id, finding.job_name
    )
    rank, causes = rule_policy.rank(finding.severity_rank), marks.causes_of(finding)
    episode = episode_of(finding, rank, causes)
    policy = policies.policy(
        finding.rule, finding.cluster, finding.job_id, finding.job_name, finding.severity_rank
    )
    lives = [(row, life_of(row)) for row in known[identity]]
    row, last = next(
        ((row, life) for row, life in lives if life.is_open),
        next(
            ((row, life) for row, life in lives if life.overlaps(episode)),
            lives[0] if lives else (None, None),
        ),
    )
    step = take(last, episode, policy, now)
    if step.life is None:
        if row is not None and last is not None and last.is_open:
            known[identity].remove(row)
            written.drop(row)
        return
    if step.is_new or row is None:
        row = Alert(
            cluster=finding.cluster,
            first_attempt_id=finding.first_attempt_id,
            rule=finding.rule,
            subject_id=finding.subject_id,
            created_at=now,
        )
        row.severity, row.recorded, row.labels = (
            finding.severity,
            policy.recorded,
            policies.labels(finding.cluster, finding.rule),
        )
        known[identity].insert(0, row)
        written.new.append(row)
        copy_texts(row, finding)
    elif (
        step.life == last
        and (row.finding_id, row.job_id, row.identity) == (finding.pk, finding.job_id, identity)
        and row.incident_id == (incident.uid if incident else None)
    ):
        return
    elif finding.first_seen >= step.life.episode_at:
        copy_texts(row, finding)
    put(row, step.life)
    row.first_attempt_id = finding.first_attempt_id
    row.resolves_at = resolves_at(step.life, policy)
    if not row.is_open and last is not None and last.is_open:
        row.ended_because = policies.why_ended(row.cluster)
    written.change(row)
    written.note(row, step.events)
    if incident is not None and (
        row.incident_id is None or finding.first_seen >= step.life.episode_at
    ):
        written.note(row, join_incident(row, incident, now))


def changed_texts() -> Iterator[list[int]]:
    """Open alerts whose texts differ from their finding's, in batches of keys."""
    other = Alert.objects.filter(state__in=OPEN, finding__isnull=False).exclude(
        title=F("finding__title"), cause=F("finding__cause"), next_step=F("finding__next_step")
    )
    return chunks(list(other.order_by("id").values_list("pk", flat=True)), FINDINGS_AT_ONCE)


def copy_changed(pks: list[int]) -> int:
    """Call it in a transaction."""
    rows = list(
        Alert.objects.filter(pk__in=pks, state__in=OPEN)
        .select_related("finding")
        .select_for_update(of=("self",))
    )
    for row in rows:
        if row.finding:
            copy_texts(row, row.finding)
    write(rows, TEXTS)
    return len(rows)


def _known_alerts(findings: Iterable[Finding]) -> dict[Identity, list[Alert]]:
    findings = list(findings)
    since = min(finding.first_seen for finding in findings) - FLAP_WINDOW
    near = Q(state__in=OPEN) | Q(ends_at__gte=since) | Q(notify_since__isnull=False)
    of_job = Q(first_attempt_id__in={finding.first_attempt_id for finding in findings}) | Q(
        finding__in=[finding.pk for finding in findings]
    )
    rows = Alert.objects.filter(
        near,
        of_job,
        cluster__in={finding.cluster for finding in findings},
        rule__in={finding.rule for finding in findings},
        subject_id__in={finding.subject_id for finding in findings},
    )
    alerts_by_identity: dict[Identity, list[Alert]] = defaultdict(list)
    identities = {finding.pk: finding.identity for finding in findings}
    moved = []
    # Locked, since all columns are written back, and a person may be acknowledging them.
    for row in rows.order_by("-id").select_for_update():
        if identities.get(row.finding_id or 0, row.identity) != row.identity:
            moved.append(row)
        else:
            alerts_by_identity[row.identity].append(row)
    for row in moved:
        # Its attempt turned out to be of another job, whose own open alert continues.
        new = identities[row.finding_id or 0]
        goes_on = row.is_open and any(alert.is_open for alert in alerts_by_identity[new])
        alerts_by_identity[row.identity if goes_on else new].append(row)
    return alerts_by_identity
