"""People's actions on an incident: they apply to all of its alerts, also to later ones."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext

from webapp.accounts.models import User
from webapp.accounts.roles import Role
from webapp.accounts.viewers import scope_of
from webapp.alerting import actions
from webapp.alerting.choices import OPEN, EventKind
from webapp.alerting.models import Alert, Silence
from webapp.alerting.models.alert import NOT_ACKNOWLEDGED, AlertQuerySet
from webapp.incidents.choices import IncidentState
from webapp.incidents.models import Incident
from webapp.lib.chunks import chunks
from webapp.lib.matchers import matcher
from webapp.lib.refusals import ActionRefused, InputRefused

LABEL = "incident"
OPERATORS = [role.group for role in Role if role >= Role.OPERATOR]
MOST_PEOPLE = 200


def acknowledge(incident: Incident, user: Any, comment: str, now: datetime) -> int:
    """Returns how many alerts were not acknowledged before. Later ones are acknowledged too, unless
    they are more severe. Raises :class:`ActionRefused`.
    """
    comment, name = actions.clean(comment), user.get_username()[:200]
    with transaction.atomic():
        is_new = Incident.objects.filter(
            pk=incident.pk, state=IncidentState.OPEN, acknowledged_at__isnull=True
        ).update(
            acknowledged_by=user,
            acknowledged_name=name,
            acknowledged_at=now,
            acknowledge_comment=comment,
            acknowledged_rank=incident.severity_rank,
        )
        Incident.objects.filter(pk=incident.pk, state=IncidentState.OPEN).update(
            acknowledged_rank=incident.severity_rank
        )
        unacknowledged = _open(incident).filter(acknowledged_at__isnull=True)
        alert_count = sum(
            actions.acknowledge(uids, user, comment, now) for uids in _uids(unacknowledged)
        )
        if not is_new and not alert_count:
            if not incident.is_open:
                raise ActionRefused(gettext("It is over."))
            raise ActionRefused(
                gettext("%(acknowledged_name)s has already acknowledged it.")
                % {"acknowledged_name": incident.acknowledged_name}
            )
    incident.refresh_from_db()
    return alert_count


def take_back(incident: Incident, user: Any, now: datetime) -> int:
    """Raises :class:`ActionRefused` if nobody has acknowledged it."""
    with transaction.atomic():
        was_acknowledged = Incident.objects.filter(
            pk=incident.pk, acknowledged_at__isnull=False
        ).update(**NOT_ACKNOWLEDGED, acknowledged_by=None, acknowledged_rank=0)
        acknowledged = _open(incident).filter(acknowledged_at__isnull=False)
        alert_count = sum(actions.take_back(uids, user, now) for uids in _uids(acknowledged))
        if not was_acknowledged and not alert_count:
            raise ActionRefused(gettext("Nobody has acknowledged it."))
    incident.refresh_from_db()
    return alert_count


def people(incident: Incident) -> list[User]:
    """Operators who see the cluster of the incident, among the first 200 by name."""
    operators = Q(is_superuser=True) | Q(groups__name__in=OPERATORS)
    active = User.objects.filter(operators, is_active=True).distinct().order_by("username")
    sees_cluster: dict[str, bool] = {}
    operators_of_cluster = []
    for user in active[:MOST_PEOPLE]:
        grants = "" if user.is_superuser else repr(user.sees)
        if grants not in sees_cluster:
            sees_cluster[grants] = scope_of(user).holds(incident.cluster)
        if sees_cluster[grants]:
            operators_of_cluster.append(user)
    return operators_of_cluster


def assign(incident: Incident, owner: str, user: Any, now: datetime) -> None:
    """``owner``: user name; "" for nobody. Raises :class:`InputRefused` or :class:`ActionRefused`."""
    person = next((person for person in people(incident) if person.username == owner), None)
    if owner and person is None:
        raise InputRefused(
            gettext("Choose an operator who sees this cluster: %(owner)s is none.")
            % {"owner": owner[:100]}
        )
    with transaction.atomic():
        open_incident = Incident.objects.filter(pk=incident.pk, state=IncidentState.OPEN)
        if open_incident.exclude(owner_name=owner).update(owner=person, owner_name=owner):
            pks = list(_open(incident).values_list("pk", flat=True))
            kind = EventKind.ASSIGNED if owner else EventKind.RELEASED
            actions.add_events(pks, kind, user.get_username()[:200], owner, now)
        elif not open_incident.exists():
            raise ActionRefused(gettext("It is over."))
    incident.refresh_from_db()


def silence(
    incident: Incident, duration: timedelta, reason: str, user: Any, now: datetime
) -> Silence:
    """Raises :class:`InputRefused`."""
    text = actions.clean(reason) or f"Incident: {incident.title}"[: actions.LONGEST_COMMENT]
    return actions.silence(
        [matcher(LABEL, "=", incident.uid)], now, now + duration, text, user, now
    )


def _open(incident: Incident) -> AlertQuerySet:
    alerts: AlertQuerySet = Alert.objects.filter(
        incident__uid=incident.uid, state__in=OPEN
    ).order_by("pk")
    return alerts


def _uids(alerts: AlertQuerySet) -> Iterator[list[str]]:
    return chunks(list(alerts.values_list("uid", flat=True)), actions.AT_ONCE)
