"""One notice for a bucket that fails jobs of several clusters. Incidents have one cluster each,
since people may see only some; their unnotified alerts join one group without a cluster.
"""

import hashlib

from webapp.findings.store_troubles import RULE, StoreTrouble, store_troubles
from webapp.incidents.models import IncidentMember

FAMILY_CHARS = 64
NO_CLUSTER = ""


def shared_homes(causes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Uid → cluster and family of the bucket's group, for incidents of the same fault at the same
    time. ``causes``: uid → cluster and family.
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
