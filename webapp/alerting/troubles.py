"""Alerts as troubles, for lists: an incident is one row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, Max, QuerySet, Value, When, Window
from django.db.models.functions import Coalesce, RowNumber
from django.utils.translation import gettext

from webapp.alerting.lifecycle import FLAP_QUIET
from webapp.alerting.models import Alert
from webapp.alerting.policies import Policies
from webapp.alerting.unnotified import reasons_by_alert
from webapp.delivery.badges import delivery_badge
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.findings.figures import figures
from webapp.findings.folding import hold_of
from webapp.findings.models import Finding
from webapp.incidents.models import Incident
from webapp.lib.badges import Badge
from webapp.lib.instants import instant_text
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import duration_text

MOST_ALERTS = 2_000


@dataclass(frozen=True)
class Notification:
    uid: str
    receiver: str
    at: datetime
    badge: Badge
    error: str


@dataclass(frozen=True)
class Trouble:
    """``cause``: the finding that caused the incident, if it is not the alert's own; ``more``:
    number of other alerts of the incident; ``unnotified``: why nobody was notified, or "".
    """

    incident: Incident | None
    cause: Finding | None
    more: int
    notified: Sequence[Notification]
    unnotified: str
    resolves: str


def fold(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    """The worst alert of each incident; of equally severe ones the cause, else the oldest."""
    not_cause = Case(When(finding=F("incident__cause"), then=Value(0)), default=Value(1))
    place = Window(
        RowNumber(),
        partition_by=Coalesce("incident", "uid"),
        order_by=[F("severity_rank").desc(), not_cause, F("starts_at").asc(), F("id").asc()],
    )
    first = alerts.order_by().annotate(place=place).filter(place=1)
    return Alert.objects.filter(pk__in=first.values("pk"))


def troubles(
    rows: Sequence[Alert], among: QuerySet[Alert] | None, now: datetime
) -> dict[int, Trouble]:
    """Alert key → trouble. ``among``: all alerts that the rows stand for; None
    if each row is one alert.
    """
    uids = {row.incident_id for row in rows if row.incident_id}
    incidents = Incident.objects.select_related("cause").in_bulk(uids, field_name="uid")
    counts: Mapping[Any, int] = {}
    subjects = {row.uid: row.uid for row in rows}
    if among is not None:
        members = among.filter(incident__uid__in=uids).order_by()
        counts = dict(members.values_list("incident__uid").annotate(Count("pk")))
        shown_alert = {row.incident_id: row.uid for row in rows if row.incident_id}
        pairs = members.order_by("-pk").values_list("uid", "incident__uid")[:MOST_ALERTS]
        subjects |= {uid: shown_alert[incident] for uid, incident in pairs}
    notified = notifications(subjects)
    reasons = reasons_by_alert([row for row in rows if row.uid not in notified], now)
    policies = Policies()
    return {
        row.pk: Trouble(
            incident := incidents.get(row.incident_id or ""),
            incident.cause if incident and incident.cause_id != row.finding_id else None,
            max(counts.get(row.incident_id, 1) - 1, 0),
            notified.get(row.uid, ()),
            reasons.get(row.pk, ""),
            what_resolves(row, policies) if row.is_open else "",
        )
        for row in rows
    }


def what_resolves(row: Alert, policies: Policies) -> str:
    if row.quiet_since is not None:
        return gettext("At %(at)s, unless its rule finds it again.") % {
            "at": instant_text(row.resolves_at)
        }
    hold_after = policies.rule_policy(row.rule, row.cluster, row.job_id, row.job_name).hold_after
    if policies.is_recorded(row.cluster):
        hold_after = timedelta()
    elif row.flapping:
        hold_after = max(hold_after, FLAP_QUIET)
    hold = duration_text((hold_of(row.rule) + hold_after).total_seconds() * 1_000)
    passed_figure = next(
        (figure for figure in figures(row.evidence) if figure.compared and figure.is_passed), None
    )
    if passed_figure is None:
        return gettext("After %(hold)s without it.") % {"hold": hold}
    words = " ".join(
        (localised(passed_figure.name), passed_figure.compared, localised(passed_figure.note))
    )
    return gettext("After %(hold)s without: %(figure)s.") % {
        "hold": hold,
        "figure": words.strip(),
    }


def notifications(subjects: Mapping[str, str]) -> dict[str, list[Notification]]:
    """Subject → newest delivery to each receiver, newest first. ``subjects``: uid of an alert → its
    subject, such as the incident.
    """
    links = DeliveryAlert.objects.filter(alert_uid__in=list(subjects)).order_by()
    newest: dict[tuple[str, int, str], int] = {}
    for uid, endpoint, mail_to, pk in links.values_list(
        "alert_uid", "delivery__endpoint", "delivery__mail_to"
    ).annotate(Max("delivery")):
        key = subjects[uid], endpoint, mail_to
        newest[key] = max(newest.get(key, 0), pk)
    deliveries = (
        Delivery.objects.filter(pk__in=set(newest.values()))
        .select_related("endpoint")
        .defer("payload")
        .in_bulk()
    )
    notified: dict[str, list[Notification]] = defaultdict(list)
    for (subject, _, _), pk in sorted(newest.items(), key=lambda item: -item[1]):
        if row := deliveries.get(pk):
            notified[subject].append(
                Notification(
                    row.uid,
                    row.mail_to or row.endpoint.name,
                    row.ended_at or row.made_at,
                    delivery_badge(row),
                    row.last_error,
                )
            )
    return dict(notified)
