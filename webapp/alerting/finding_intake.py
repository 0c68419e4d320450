"""Marked findings → alerts. The same transaction removes the mark: each finding is taken once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import F, Q

from webapp.alerting.alert_rows import (
    FINDING_FIELDS,
    AlertChanges,
    copy_life,
    copy_texts,
    episode_of,
    life_of,
)
from webapp.alerting.choices import OPEN
from webapp.alerting.incident_alerts import follow, join_incident
from webapp.alerting.lifecycle import FLAP_WINDOW, add_episode, resolves_at
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
    """Takes at most 500 unlocked findings, and returns how many. Call it in a transaction."""
    marked = (
        Finding.objects.filter(to_alert=True).order_by("id").select_for_update(skip_locked=True)
    )
    findings = list(marked[:FINDINGS_AT_ONCE])
    if not findings:
        return 0
    joined = join(findings, now)
    follow(joined)
    alerts = _existing_alerts(findings)
    changes = AlertChanges()
    for finding in findings:
        _take(finding, joined.of_finding.get(finding.pk), alerts, policies, changes, now)
    changes.save()
    Finding.objects.filter(pk__in=[finding.pk for finding in findings]).update(to_alert=False)
    return len(findings)


def _take(
    finding: Finding,
    incident: Incident | None,
    alerts: dict[Identity, list[Alert]],
    policies: Policies,
    changes: AlertChanges,
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
    lives = [(row, life_of(row)) for row in alerts[identity]]
    open_lives = [(row, life) for row, life in lives if life.is_open]
    overlapping = [(row, life) for row, life in lives if life.overlaps(episode)]
    # The open alert, else the newest that overlaps the finding, else the newest.
    row, last = next(iter(open_lives or overlapping or lives), (None, None))
    step = add_episode(last, episode, policy, now)
    if step.life is None:
        if row is not None and last is not None and last.is_open:
            alerts[identity].remove(row)
            changes.drop(row)
        return
    if step.is_new or row is None:
        row = Alert(
            cluster=finding.cluster,
            first_attempt_id=finding.first_attempt_id,
            rule=finding.rule,
            subject_id=finding.subject_id,
            created_at=now,
            severity=finding.severity,
            recorded=policy.recorded,
            labels=policies.labels(finding.cluster, finding.rule),
        )
        alerts[identity].insert(0, row)
        changes.new.append(row)
        copy_texts(row, finding)
    elif (
        step.life == last
        and (row.finding_id, row.job_id, row.identity) == (finding.pk, finding.job_id, identity)
        and row.incident_id == (incident.uid if incident else None)
    ):
        return
    elif finding.first_seen >= step.life.episode_at:
        copy_texts(row, finding)
    copy_life(row, step.life)
    row.first_attempt_id = finding.first_attempt_id
    row.resolves_at = resolves_at(step.life, policy)
    if not row.is_open and last is not None and last.is_open:
        row.ended_because = policies.why_ended(row.cluster)
    changes.add_changed(row)
    changes.add_events(row, step.events)
    if incident is not None and (
        row.incident_id is None or finding.first_seen >= step.life.episode_at
    ):
        changes.add_events(row, join_incident(row, incident, now))


def changed_texts() -> Iterator[list[int]]:
    """Open alerts whose texts differ from those of their finding, in batches."""
    outdated = Alert.objects.filter(state__in=OPEN, finding__isnull=False).exclude(
        title=F("finding__title"), cause=F("finding__cause"), next_step=F("finding__next_step")
    )
    return chunks(list(outdated.order_by("id").values_list("pk", flat=True)), FINDINGS_AT_ONCE)


def copy_changed(pks: list[int]) -> int:
    """Copies the texts of their findings to these alerts. Call it in a transaction."""
    rows = list(
        Alert.objects.filter(pk__in=pks, state__in=OPEN)
        .select_related("finding")
        .select_for_update(of=("self",))
    )
    for row in rows:
        if row.finding:
            copy_texts(row, row.finding)
    write(rows, FINDING_FIELDS)
    return len(rows)


def _existing_alerts(findings: Iterable[Finding]) -> dict[Identity, list[Alert]]:
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
    # All columns are written back, and a person may acknowledge an alert meanwhile.
    for row in rows.order_by("-id").select_for_update():
        if identities.get(row.finding_id or 0, row.identity) != row.identity:
            moved.append(row)
        else:
            alerts_by_identity[row.identity].append(row)
    for row in moved:
        # The attempt now belongs to another job. An open alert of that job continues.
        new_identity = identities[row.finding_id or 0]
        has_open = any(alert.is_open for alert in alerts_by_identity[new_identity])
        alerts_by_identity[row.identity if row.is_open and has_open else new_identity].append(row)
    return alerts_by_identity
