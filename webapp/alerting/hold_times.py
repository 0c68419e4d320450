"""Alerts fire or are resolved after their hold time, and end if their finding was deleted."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from webapp.alerting.alert_rows import (
    CHANGING_FIELDS,
    ROWS_AT_ONCE,
    AlertChanges,
    copy_life,
    life_of,
)
from webapp.alerting.choices import OPEN, AlertState
from webapp.alerting.lifecycle import Step, end_without_finding, resolves_at, tick
from webapp.alerting.models import Alert
from webapp.alerting.muting import UNREAD
from webapp.alerting.policies import Policies
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.lib.chunks import chunks


def pending_chunks(now: datetime) -> Iterator[list[int]]:
    _mark_missed_findings()
    has_lost_finding = ~Exists(Finding.objects.filter(pk=OuterRef("finding_id")))
    waiting = Alert.objects.filter(
        Q(state=AlertState.PENDING) | Q(quiet_since__isnull=False) | Q(has_lost_finding),
        state__in=OPEN,
    )
    return chunks(list(waiting.order_by("id").values_list("pk", flat=True)), ROWS_AT_ONCE)


def hold(pks: list[int], policies: Policies, now: datetime) -> int:
    """Returns how many alerts changed. Call it in a transaction."""
    has_finding = Exists(Finding.objects.filter(pk=OuterRef("finding_id")))
    changes = AlertChanges()
    rows = (
        Alert.objects.filter(pk__in=pks, state__in=OPEN)
        .annotate(has_finding=has_finding)
        .defer(*UNREAD)
    )
    # An acknowledgement may change the same columns meanwhile.
    for row in rows.select_for_update(of=("self",)):
        last = life_of(row)
        policy = policies.policy(row.rule, row.cluster, row.job_id, row.job_name, row.severity_rank)
        next_step = tick if vars(row)["has_finding"] else end_without_finding
        step: Step = next_step(last, policy, now)
        if step.life is None:
            changes.drop(row)
            continue
        resolve_time = resolves_at(step.life, policy)
        if (step.life, resolve_time) != (last, row.resolves_at):
            copy_life(row, step.life)
            row.resolves_at = resolve_time
            changes.add_changed(row)
            changes.add_events(row, step.events)
    changes.save(CHANGING_FIELDS)
    return len(changes.changed) + len(changes.deleted)


def _mark_missed_findings() -> None:
    missed = Alert.objects.filter(
        state__in=OPEN,
        quiet_since__isnull=True,
        finding__state=FindingState.CLOSED,
        finding__to_alert=False,
    )
    pks = list(missed.values_list("finding_id", flat=True)[:ROWS_AT_ONCE])
    if pks:
        Finding.objects.filter(pk__in=pks).update(to_alert=True)
