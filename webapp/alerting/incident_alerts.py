"""Alerts of an incident are notified together, as one group. Receivers use the group too, so
notified alerts keep theirs, and the other alerts join it. If no alert was notified, all join the
group of the cause, or of the bucket that fails jobs of several clusters.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from webapp.alerting.choices import EventKind
from webapp.alerting.lifecycle import LifeEvent
from webapp.alerting.models import Alert, AlertGroup
from webapp.findings.store_troubles import RULE, StoreTrouble, store_troubles
from webapp.incidents.joining import Joined
from webapp.incidents.models import Incident, IncidentMember
from webapp.lib.chunks import chunks

ROWS_AT_ONCE = 500
FAMILY_CHARS = 64
NO_CLUSTER = ""


def follow(joined: Joined) -> None:
    """Move alerts and owners to the remaining incidents. Call it in a transaction."""
    for merged, remaining in joined.merged.items():
        Alert.objects.filter(incident__uid=merged).update(incident=remaining)
        owners = Incident.objects.filter(uid=merged).exclude(owner_name="")
        for owner in owners.values("owner", "owner_name"):
            Incident.objects.filter(uid=remaining, owner_name="").update(**owner)


def join_incident(row: Alert, incident: Incident, now: datetime) -> Iterable[LifeEvent]:
    """Does not save ``row``. An alert that joins an acknowledged incident is acknowledged too,
    unless it is more severe.
    """
    is_new = row.incident_id != incident.uid
    row.incident_id = incident.uid
    is_acknowledged = incident.is_acknowledged and row.severity_rank <= incident.acknowledged_rank
    is_open = row.is_open and incident.is_open
    if not (is_new and is_open and is_acknowledged) or row.acknowledged_at is not None:
        return ()
    row.acknowledged_name = incident.acknowledged_name
    row.acknowledged_at = incident.acknowledged_at
    row.acknowledge_comment = incident.acknowledge_comment
    row.notified_rank, row.milder_since = min(row.notified_rank, row.severity_rank), None
    return ((now, EventKind.JOINED),)


def gather_unnotified() -> int:
    """Moves alerts that were never notified to the group of their incident. Call it in a
    transaction.
    """
    unnotified = Alert.objects.to_notify().filter(notified_at__isnull=True, incident__isnull=False)
    waiting = list(
        unnotified.order_by("incident__uid", "pk").values_list("pk", "group", "incident__uid")
    )
    moved_count = 0
    for uids in chunks(sorted({uid for _, _, uid in waiting}), ROWS_AT_ONCE):
        group_of = _groups(uids)
        pks_by_group: dict[int, list[int]] = {}
        for pk, group, uid in waiting:
            if uid in group_of and group_of[uid] != group:
                pks_by_group.setdefault(group_of[uid], []).append(pk)
        for group, pks in pks_by_group.items():
            for part in chunks(pks, ROWS_AT_ONCE):
                moved_count += Alert.objects.filter(pk__in=part).update(group=group)
    return moved_count


def _groups(uids: list[str]) -> dict[str, int]:
    """Incident uid → key of the group."""
    notified = Alert.objects.filter(incident__uid__in=uids, notified_at__isnull=False).order_by(
        "-notified_at", "-pk"
    )
    # The alert that was notified first is the last row.
    groups = dict(notified.values_list("incident__uid", "group"))
    causes = {
        uid: (cluster, rule.partition(".")[0])
        for uid, cluster, rule in Incident.objects.filter(
            uid__in=set(uids) - set(groups)
        ).values_list("uid", "cluster", "rule")
    }
    causes |= _shared_causes(causes)
    new_groups = AlertGroup.objects.ensure(set(causes.values())) if causes else {}
    return groups | {uid: new_groups[key].pk for uid, key in causes.items()}


def _shared_causes(causes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """The part of ``causes`` (uid → cluster and family of the group) that is a bucket which fails
    jobs of several clusters. An incident has one cluster, since people may not see all of them; but
    its alerts join a common group without a cluster.
    """
    family = RULE.partition(".")[0]
    uids = [uid for uid, (_cluster, cause) in causes.items() if cause == family]
    shared = [trouble for trouble in store_troubles() if len(trouble.clusters) > 1] if uids else []
    names = {finding.pk: _family(trouble) for trouble in shared for finding in trouble.findings}
    members = IncidentMember.objects.filter(incident__uid__in=uids, finding__in=list(names))
    return {
        uid: (NO_CLUSTER, names[finding])
        for uid, finding in members.values_list("incident__uid", "finding_id")
    }


def _family(trouble: StoreTrouble) -> str:
    name = f"store {trouble.resource} {trouble.fault}"
    if len(name) <= FAMILY_CHARS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: FAMILY_CHARS - len(digest) - 1]} {digest}"
