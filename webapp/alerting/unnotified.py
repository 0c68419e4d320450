from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext, gettext_noop

from webapp.alerting.choices import LEAST_RANK, AlertState, Mute, Notified
from webapp.alerting.models import Alert, AlertGroup
from webapp.alerting.muting import Mutes
from webapp.alerting.notifications import pace
from webapp.alerting.policies import Policies
from webapp.delivery.models import Endpoint
from webapp.delivery.outbox import matchers_of
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding
from webapp.lib import scopes
from webapp.lib.instants import age_text
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import match_each

NOT_STORED = gettext_noop("No endpoint took the notice, or its deliveries are no longer stored.")


@dataclass(frozen=True)
class Unnotified:
    """``reasons``: (number of alerts or findings, sentence). ``is_known``: false if somebody may
    have been notified.
    """

    reasons: tuple[tuple[int, str], ...]
    is_known: bool = True

    @classmethod
    def counted(cls, sentences: Iterable[str]) -> "Unnotified":
        counts = Counter(sentences)
        return cls(
            tuple((count, sentence) for sentence, count in counts.items()),
            is_known=gettext(NOT_STORED) not in counts,
        )


def why_nobody(alerts: Sequence[Alert], now: datetime) -> Unnotified:
    """``alerts``: those without a stored delivery."""
    return Unnotified.counted(reasons_by_alert(alerts, now).values())


def reasons_by_alert(alerts: Sequence[Alert], now: datetime) -> dict[int, str]:
    reasons = {row.pk: _reason_before_notice(row) for row in alerts}
    if due := [row for row in alerts if not reasons[row.pk] and row.notified_at is None]:
        reasons |= _reasons_of_mutes(due, now)
    unexplained = [row for row in alerts if not reasons[row.pk]]
    # Only readers of the whole fleet see endpoints.
    sees_endpoints = bool(unexplained) and scopes.current().is_everything
    endpoints = list(Endpoint.objects.all()) if sees_endpoints else []
    groups = AlertGroup.objects.in_bulk({row.group_id for row in due})
    takers = _min_ranks_of_takers(unexplained, endpoints)
    for row in unexplained:
        no_taker = _why_no_taker(row, endpoints, takers[row.pk]) if sees_endpoints else ""
        if row.notified_at is None:
            reasons[row.pk] = no_taker or _when_due(row, groups.get(row.group_id), now)
        else:
            reasons[row.pk] = no_taker or gettext(NOT_STORED)
    return reasons


def _reason_before_notice(row: Alert) -> str:
    if row.notified_at is not None:
        return ""
    if row.notified != Notified.NOTHING:
        return gettext("It was over before the mute ended.")
    if row.muted_by:
        return _mute_words(row.muted_by)
    if row.state != AlertState.PENDING:
        return ""
    return gettext("Pending: it has not lasted for the hold time.")


def _mute_words(by: str) -> str:
    if by == Mute.UNREACHABLE:
        return gettext("Muted: the cluster is not seen.")
    return gettext("Muted by a silence.")


def _reasons_of_mutes(rows: Sequence[Alert], now: datetime) -> dict[int, str]:
    mutes = Mutes(now)
    prefetch_related_objects(rows, Prefetch("finding", Finding.objects.only("last_seen")))
    return {
        pk: _mute_words(reason.by)
        for pk, reason in mutes.reasons_by_alert_id(rows).items()
        if reason.by
    }


def _when_due(row: Alert, group: AlertGroup | None, now: datetime) -> str:
    due_at = (group and group.next_due_at) or (row.notify_since or now) + pace().wait
    when = {"when": age_text(due_at, now)}
    if due_at > now:
        return gettext("The notice is due %(when)s.") % when
    return gettext("The notice was due %(when)s, and is not made yet.") % when


def _min_ranks_of_takers(
    rows: Sequence[Alert], endpoints: Sequence[Endpoint]
) -> dict[int, list[int]]:
    labels = [matched_labels(row) for row in rows]
    takers: dict[int, list[int]] = {row.pk: [] for row in rows}
    for endpoint in endpoints:
        if endpoint.enabled:
            for row, matches in zip(rows, match_each(matchers_of(endpoint), labels), strict=True):
                if matches:
                    takers[row.pk].append(endpoint.min_rank)
    return takers


def _why_no_taker(row: Alert, endpoints: Sequence[Endpoint], ranks: Sequence[int]) -> str:
    if not endpoints:
        return gettext("There is no endpoint.")
    if not any(endpoint.enabled for endpoint in endpoints):
        return gettext("All endpoints are disabled.")
    if not ranks:
        return gettext("No enabled endpoint matches the labels.")
    if row.severity_rank < min(ranks):
        return gettext("The enabled endpoints that match the labels take only more severe alerts.")
    return ""


def why_no_alert(findings: Sequence[Finding]) -> Unnotified:
    if not findings:
        reason = gettext(
            "Whether anybody was notified is no longer known: its findings and alerts are not kept."
        )
        return Unnotified(((0, reason),), is_known=False)
    policies = Policies()
    return Unnotified.counted(_why_no_alert(row, policies) for row in findings)


def _why_no_alert(row: Finding, policies: Policies) -> str:
    policy = policies.rule_policy(row.rule, row.cluster, row.job_id, row.job_name)
    if not policy.alerts:
        return gettext("Alerts are switched off for the rule.")
    if policy.rank(row.severity_rank) < LEAST_RANK:
        if row.severity_rank >= LEAST_RANK:
            return gettext("The severity that is set for the rule is below a warning.")
        return gettext("What is less severe than a warning does not alert.")
    if policies.why_ended(row.cluster):
        return gettext("The cluster is no longer watched.")
    if row.to_alert:
        return gettext("The next evaluation processes it.")
    if row.state == FindingState.CLOSED and policy.hold_before > max(
        timedelta(), row.last_seen - row.first_seen
    ):
        return gettext("What ends within the hold time does not alert.")
    return gettext(
        "With the current settings it would alert: the settings were different, or its alert "
        "continued in another incident."
    )
