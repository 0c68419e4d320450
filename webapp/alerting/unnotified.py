"""Why nobody was notified of alerts: what mutes each, or why no endpoint accepted its notice."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext, gettext_noop

from webapp.alerting import story_texts
from webapp.alerting.choices import AlertState, Happened, Mute, Notified
from webapp.alerting.models import Alert, AlertEvent, AlertGroup
from webapp.alerting.muting import Mutes
from webapp.alerting.notifications import pace
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.outbox import matchers_of
from webapp.findings.models import Finding
from webapp.lib import scopes
from webapp.lib.instants import age_text
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import match_each

MOST_NOTICES = 1_000
NO_LONGER_KNOWN = gettext_noop(
    "Whether anybody was notified is no longer known: deliveries of that time are not kept."
)


@dataclass(frozen=True)
class Unnotified:
    """``reasons``: (number of alerts or findings, sentence). ``is_known``: false if somebody may
    have been notified.
    """

    reasons: tuple[tuple[int, str], ...]
    is_known: bool = True
    elsewhere: str = ""
    """Uid of the incident that says who was notified."""

    @classmethod
    def counted(cls, sentences: Iterable[str]) -> "Unnotified":
        return cls(tuple((count, sentence) for sentence, count in Counter(sentences).items()))


def why_nobody(alerts: Sequence[Alert], now: datetime) -> Unnotified:
    """For alerts without a known delivery; at most seven queries for any number."""
    reasons = reasons_by_alert(alerts, now)
    if reasons is None:
        return Unnotified(((len(alerts), gettext(NO_LONGER_KNOWN)),), is_known=False)
    return Unnotified.counted(reasons[row.pk] for row in alerts)


def reasons_by_alert(alerts: Sequence[Alert], now: datetime) -> dict[int, str] | None:
    """Alert key → why nobody was notified; None if no longer known."""
    reasons = {row.pk: _before_its_notice(row) for row in alerts}
    due = [row for row in alerts if not reasons[row.pk] and row.notified_at is None]
    of_notice = [row for row in alerts if not reasons[row.pk] and row.notified_at is not None]
    if due:
        reasons |= _about_to_be_muted(due, now)
    due = [row for row in due if not reasons[row.pk]]
    sent = _sent(of_notice)
    if sent is None:
        return None
    # Readers of some clusters see no endpoints: these belong to the whole fleet.
    endpoints = (
        list(Endpoint.objects.all())
        if (due or of_notice) and scopes.current().is_everything
        else None
    )
    groups = AlertGroup.objects.in_bulk({row.group_id for row in due}) if due else {}
    takers = _takers([*due, *of_notice], endpoints or ())
    for row in due:
        reasons[row.pk] = _no_taker(row, endpoints, takers[row.pk]) or _due(
            row, groups.get(row.group_id), now
        )
    for row in of_notice:
        reasons[row.pk] = _no_taker(row, endpoints, takers[row.pk]) or _taken_by_now(
            row.pk in sent, endpoints is not None
        )
    return reasons


def _before_its_notice(row: Alert) -> str:
    if row.notified_at is not None:
        return ""
    if row.notified != Notified.NOTHING:
        return gettext("It was over before the mute ended.")
    if row.muted_by:
        return _muted(row.muted_by)
    if row.state != AlertState.PENDING:
        return ""
    if row.recorded:
        return gettext("Pending: it did not last for the hold time in the recording.")
    return gettext("Pending: it has not lasted for the hold time yet.")


def _muted(by: str) -> str:
    if by == Mute.UNREACHABLE:
        return gettext("Muted: the cluster is not seen.")
    return gettext("Muted by a silence.")


def _about_to_be_muted(rows: Sequence[Alert], now: datetime) -> dict[int, str]:
    """Alerts with a new silence: the next evaluation mutes before it notifies."""
    mutes = Mutes(now)
    prefetch_related_objects(rows, Prefetch("finding", Finding.objects.only("last_seen")))
    return {
        pk: _muted(reason.by) for pk, reason in mutes.reasons_by_alert_id(rows).items() if reason.by
    }


def _due(row: Alert, group: AlertGroup | None, now: datetime) -> str:
    since = row.notify_since or now
    due_at = (
        group.next_due_at
        if group is not None and group.next_due_at is not None
        else since + pace().wait
    )
    when = {"when": age_text(due_at, now)}
    return (
        gettext("The notice is due %(when)s.") % when
        if due_at > now
        else gettext("The notice was due %(when)s, and is not made yet.") % when
    )


def _sent(rows: Sequence[Alert]) -> set[int] | None:
    """Keys of alerts whose notice an endpoint accepted; None if one of these deliveries is no
    longer stored.
    """
    if not rows:
        return set()
    events = AlertEvent.objects.filter(
        alert__in=[row.pk for row in rows], kind=Happened.NOTIFIED
    ).order_by("id")
    taken = story_texts.taken(
        events.exclude(comment__endswith=story_texts.NOBODY).values_list("alert_id", "comment")[
            :MOST_NOTICES
        ]
    )
    if not taken:
        return set()
    uids = {uid for _, uid in taken}
    kept = set(
        Delivery.objects.filter(notice_uid__in=uids).values_list("notice_uid", flat=True).distinct()
    )
    return {pk for pk, _ in taken} if uids <= kept else None


def _takers(rows: Sequence[Alert], endpoints: Sequence[Endpoint]) -> dict[int, list[int]]:
    labels = [matched_labels(row) for row in rows]
    takers: dict[int, list[int]] = {row.pk: [] for row in rows}
    for endpoint in endpoints:
        if endpoint.enabled:
            for row, matches in zip(rows, match_each(matchers_of(endpoint), labels), strict=True):
                takers[row.pk] += [endpoint.min_rank] if matches else []
    return takers


def _no_taker(row: Alert, endpoints: Sequence[Endpoint] | None, least: Sequence[int]) -> str:
    if endpoints is None:
        return ""
    if not endpoints:
        return gettext("There is no endpoint.")
    if not any(endpoint.enabled for endpoint in endpoints):
        return gettext("All endpoints are disabled.")
    if not least:
        return gettext("No enabled endpoint matches the labels.")
    if row.severity_rank < min(least):
        return gettext("The enabled endpoints that match the labels take only more severe alerts.")
    return ""


def _taken_by_now(was_sent: bool, knows_endpoints: bool) -> str:
    if not knows_endpoints:
        return gettext("No endpoint took it.")
    if was_sent:
        return gettext("No delivery names it; an endpoint would take it by now.")
    return gettext("No endpoint took the notice; one would by now.")
