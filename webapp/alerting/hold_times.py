"""Alerts fire or are resolved after their hold time, and end without their finding."""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from webapp.alerting.alert_rows import LIFE_ONLY, ROWS_AT_ONCE, Written, life_of, put
from webapp.alerting.choices import OPEN, AlertState
from webapp.alerting.lifecycle import Step, end_without_finding, resolves_at, tick
from webapp.alerting.models import Alert
from webapp.alerting.muting import UNREAD
from webapp.alerting.policies import Policies
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.lib.chunks import chunks


def pending_chunks(now: datetime) -> Iterator[list[int]]:
    _mark_what_was_missed()
    lost = ~Exists(Finding.objects.filter(pk=OuterRef("finding_id")))
    waiting = Alert.objects.filter(
        Q(state=AlertState.PENDING) | Q(quiet_since__isnull=False) | Q(lost), state__in=OPEN
    )
    return chunks(list(waiting.order_by("id").values_list("pk", flat=True)), ROWS_AT_ONCE)


def hold(pks: list[int], policies: Policies, now: datetime) -> int:
    """Returns how many changed. Call it in a transaction."""
    known = Exists(Finding.objects.filter(pk=OuterRef("finding_id")))
    written = Written()
    rows = (
        Alert.objects.filter(pk__in=pks, state__in=OPEN).annotate(has_finding=known).defer(*UNREAD)
    )
    # Locked, since an acknowledgement may change what is written back.
    for row in rows.select_for_update(of=("self",)):
        last, has_finding = life_of(row), bool(vars(row)["has_finding"])
        rule_policy = policies.rule_policy(row.rule, row.cluster, row.job_id, row.job_name)
        policy = rule_policy.policy(row.severity_rank, recorded=policies.is_recorded(row.cluster))
        step: Step = (
            tick(last, policy, now) if has_finding else end_without_finding(last, policy, now)
        )
        if step.life is None:
            written.drop(row)
            continue
        resolves = resolves_at(step.life, policy)
        if (step.life, resolves) != (last, row.resolves_at):
            put(row, step.life)
            row.resolves_at = resolves
            written.change(row)
            written.note(row, step.events)
    written.save(LIFE_ONLY)
    return len(written.changed) + len(written.deleted)


def _mark_what_was_missed() -> None:
    missed = Alert.objects.filter(
        state__in=OPEN,
        quiet_since__isnull=True,
        finding__state=FindingState.CLOSED,
        finding__to_alert=False,
    )
    pks = list(missed.values_list("finding_id", flat=True)[:ROWS_AT_ONCE])
    if pks:
        Finding.objects.filter(pk__in=pks).update(to_alert=True)
