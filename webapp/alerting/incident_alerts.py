"""Alerts of one incident share a notice. Receivers group by the notice's group, so notified alerts
keep their group and unnotified ones join it. Without one, they join the group of the cause, or of
the bucket that fails jobs of several clusters.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from webapp.alerting.choices import Happened
from webapp.alerting.lifecycle import Event
from webapp.alerting.models import Alert, AlertGroup
from webapp.findings.store_troubles import RULE, StoreTrouble, store_troubles
from webapp.incidents.joining import Joined
from webapp.incidents.models import Incident, IncidentMember
from webapp.lib.chunks import chunks

ROWS_AT_ONCE = 500
FAMILY_CHARS = 64
NO_CLUSTER = ""


def follow(joined: Joined) -> None:
    """Move alerts of merged incidents. Call it in a transaction."""
    for other, remaining in joined.merged.items():
        Alert.objects.filter(incident__uid=other).update(incident=remaining)
        owned = (
            Incident.objects.filter(uid=other).exclude(owner_name="").values("owner", "owner_name")
        )
        for owner in owned:
            Incident.objects.filter(uid=remaining, owner_name="").update(**owner)


def join_incident(row: Alert, incident: Incident, now: datetime) -> Iterable[Event]:
    """The unsaved alert is acknowledged with the incident, unless it is worse."""
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
    row.acknowledged_name = incident.acknowledged_name
    row.acknowledged_at = incident.acknowledged_at
    row.acknowledge_comment = incident.acknowledge_comment
    row.notified_rank, row.milder_since = min(row.notified_rank, row.severity_rank), None
    return ((now, Happened.JOINED),)


def gather_unnotified() -> int:
    """Returns how many moved. Call it in a transaction."""
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
    )  # the first notified one comes last, and wins
    causes = {
        uid: (cluster, rule.partition(".")[0])
        for uid, cluster, rule in Incident.objects.filter(
            uid__in=set(uids) - set(homes)
        ).values_list("uid", "cluster", "rule")
    }
    causes |= shared_homes(causes)
    groups = AlertGroup.objects.ensure(set(causes.values())) if causes else {}
    return homes | {uid: groups[key].pk for uid, key in causes.items()}


def shared_homes(causes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """One notice for a bucket that fails jobs of several clusters. Incidents have one cluster each,
    since people may see only some; their unnotified alerts join one group without a cluster.

    Uid → cluster and family of that group. ``causes``: uid → cluster and family.
    """
    family = RULE.partition(".")[0]
    uids = [uid for uid, (_cluster, of_cause) in causes.items() if of_cause == family]
    shared = [trouble for trouble in store_troubles() if len(trouble.clusters) > 1] if uids else []
    group_of = {finding.pk: _group(trouble) for trouble in shared for finding in trouble.findings}
    members = IncidentMember.objects.filter(incident__uid__in=uids, finding__in=list(group_of))
    return {
        uid: (NO_CLUSTER, group_of[finding])
        for uid, finding in members.values_list("incident__uid", "finding_id")
    }


def _group(trouble: StoreTrouble) -> str:
    name = f"store {trouble.resource} {trouble.fault}"
    if len(name) <= FAMILY_CHARS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: FAMILY_CHARS - len(digest) - 1]} {digest}"
