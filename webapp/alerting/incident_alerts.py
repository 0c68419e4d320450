"""Alerts of one incident: reported in one notice, acknowledged together.

Receivers fold by the group of a notice, so that an alert somebody was notified of stays in the
group it was reported in: what was not notified yet goes there, or, if nothing of the incident was,
into the group of its cause, or of the bucket that fails jobs of several clusters.
"""

from collections.abc import Iterable
from datetime import datetime

from webapp.alerting.choices import Happened
from webapp.alerting.lifecycle import Event
from webapp.alerting.models import Alert, AlertGroup
from webapp.alerting.shared_stores import shared_homes
from webapp.incidents.joining import Joined
from webapp.incidents.models import Incident
from webapp.lib.chunks import chunks

ROWS_AT_ONCE = 500


def follow(joined: Joined) -> None:
    """Alerts of incidents that turned out to be part of others become theirs.

    Call it in a transaction.
    """
    for other, kept in joined.merged.items():
        Alert.objects.filter(incident__uid=other).update(incident=kept)
        owned = (
            Incident.objects.filter(uid=other).exclude(owner_name="").values("owner", "owner_name")
        )
        for owner in owned:
            Incident.objects.filter(uid=kept, owner_name="").update(**owner)


def join_incident(row: Alert, incident: Incident, now: datetime) -> Iterable[Event]:
    """The alert, which is not saved, becomes one of the incident; acknowledged with it, unless it
    is worse than what was acknowledged.
    """
    is_new = row.incident_id != incident.uid
    row.incident_id = incident.uid
    was_notified = row.acknowledged_at is not None or not row.is_open or not incident.is_open
    if (
        not is_new
        or was_notified
        or not incident.is_acknowledged
        or row.severity_rank > incident.acknowledged_rank
    ):
        return ()
    row.acknowledged_by_id, row.acknowledged_name = (
        incident.acknowledged_by_id,
        incident.acknowledged_name,
    )
    row.acknowledged_at, row.acknowledge_comment = (
        incident.acknowledged_at,
        incident.acknowledge_comment,
    )
    row.notified_rank, row.milder_since = min(row.notified_rank, row.severity_rank), None
    return ((now, Happened.JOINED),)


def gather_unnotified() -> int:
    """Puts what nobody was notified of yet into the group of its incident; returns how many alerts
    moved. Call it in a transaction.
    """
    unnotified = Alert.objects.to_notify().filter(notified_at__isnull=True, incident__isnull=False)
    waiting = list(
        unnotified.order_by("incident__uid", "pk").values_list("pk", "group", "incident__uid")
    )
    moved = 0
    for some in chunks(sorted({uid for _, _, uid in waiting}), ROWS_AT_ONCE):
        home = _homes(some)
        wanted: dict[int, list[int]] = {}
        for pk, group, uid in waiting:
            if uid in home and home[uid] != group:
                wanted.setdefault(home[uid], []).append(pk)
        for group, pks in wanted.items():
            for part in chunks(pks, ROWS_AT_ONCE):
                moved += Alert.objects.filter(pk__in=part).update(group=group)
    return moved


def _homes(uids: list[str]) -> dict[str, int]:
    notified = Alert.objects.filter(incident__uid__in=uids, notified_at__isnull=False).order_by(
        "-notified_at", "-pk"
    )
    homes = dict(
        notified.values_list("incident__uid", "group")
    )  # the first that was notified comes last, and stays
    causes = {
        uid: (cluster, rule.partition(".")[0])
        for uid, cluster, rule in Incident.objects.filter(
            uid__in=set(uids) - set(homes)
        ).values_list("uid", "cluster", "rule")
    }
    causes |= shared_homes(causes)
    groups = AlertGroup.objects.ensure(set(causes.values())) if causes else {}
    return homes | {uid: groups[key].pk for uid, key in causes.items()}
