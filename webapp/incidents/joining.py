"""Changed findings → incidents, in the transaction that stores them, by few queries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Q

from spark_jobs.diagnosis.incidents import RECURS_WITHIN, IncidentFinding, incidents
from webapp.findings.models import Finding
from webapp.incidents.choices import IncidentState
from webapp.incidents.members import from_row
from webapp.incidents.models import Incident, IncidentMember, SharedCause
from webapp.incidents.outline import outline
from webapp.lib.chunks import chunks

ROWS_AT_ONCE = 500
LONGEST_HOLD = timedelta(days=2)
"""An upper limit of the holds of all rules; audits are hours apart."""
READ = (
    "id",
    "cluster",
    "first_attempt_id",
    "rule",
    "subject_kind",
    "subject_id",
    "first_seen",
    "last_seen",
    "severity_rank",
    "state",
    "data",
)


@dataclass(frozen=True)
class Joined:
    """``of_finding``: by finding key. ``merged``: uid of an incident → uid of its target."""

    of_finding: Mapping[int, Incident] = field(default_factory=dict)
    merged: Mapping[str, str] = field(default_factory=dict)


def join(findings: Sequence[Finding], now: datetime) -> Joined:
    """Assign ``findings``, and findings related to them, to incidents. Call in a transaction."""
    if not findings:
        return Joined()
    candidates = _load_candidates(findings)
    incident_of = dict(
        IncidentMember.objects.filter(finding__in=list(candidates)).values_list(
            "finding_id", "incident_id"
        )
    )
    changed = {finding.pk for finding in findings}
    changed_incidents, merged, new_groups = set[int](), dict[int, int](), list[frozenset[int]]()
    for keys in incidents(candidates.values(), incident_of):
        if not keys & changed:
            continue
        ids = {incident_of[key] for key in keys if key in incident_of}
        if not ids:
            new_groups.append(keys)
            continue
        target = min(ids)
        merged |= {other: target for other in ids if other != target}
        changed_incidents.add(target)
        _assign(incident_of, keys, target)
    new_rows = Incident.objects.bulk_create(
        [_new_incident(candidates, keys, now) for keys in new_groups], batch_size=ROWS_AT_ONCE
    )
    for row, keys in zip(new_rows, new_groups, strict=True):
        changed_incidents.add(row.pk)
        _assign(incident_of, keys, row.pk)
    _merge(merged)
    _write_members(incident_of)
    outline(
        changed_incidents,
        {
            key: (candidates[key], incident_of[key])
            for key in incident_of
            if incident_of[key] in changed_incidents and key in candidates
        },
    )
    rows = Incident.objects.in_bulk([*{incident_of[key] for key in changed}, *merged])
    return Joined(
        {key: rows[incident_of[key]] for key in changed if incident_of.get(key) in rows},
        {rows[other].uid: rows[target].uid for other, target in merged.items()},
    )


def forget_deleted_findings() -> int:
    """Remove members without finding, and update their incidents. Returns how many members."""
    orphaned = list(
        IncidentMember.objects.filter(finding__isnull=True)
        .order_by("incident")
        .values_list("pk", "incident_id")[:ROWS_AT_ONCE]
    )
    if orphaned:
        IncidentMember.objects.filter(pk__in=[pk for pk, _ in orphaned]).delete()
        outline({incident for _, incident in orphaned}, {})
    return len(orphaned)


def _assign(incident_of: dict[int, int], keys: Iterable[int], incident: int) -> None:
    incident_of.update(dict.fromkeys(keys, incident))


def _load_candidates(findings: Sequence[Finding]) -> dict[int, IncidentFinding]:
    """``findings`` and all that may belong with them."""
    candidates = _load(Q(pk__in=[finding.pk for finding in findings]))
    reach = max(LONGEST_HOLD, RECURS_WITHIN)
    since = min(row.first_seen for row in candidates.values()) - reach
    until = max(row.last_seen for row in candidates.values()) + reach
    ids: dict[str, set[str]] = defaultdict(set)
    for row in candidates.values():
        ids[row.cluster].add(row.job)
    changed = list(candidates.values())
    for cluster, job_ids in ids.items():
        for some_jobs in chunks(sorted(job_ids), ROWS_AT_ONCE):
            candidates |= _load(
                Q(
                    cluster=cluster,
                    first_attempt_id__in=some_jobs,
                    last_seen__gte=since,
                    first_seen__lte=until,
                )
            )
    _write_shared_causes(changed)
    shared = {
        (row.cluster, row.rule, _shorten(thing))
        for row in candidates.values()
        for thing in row.trace.shared
    }
    if shared:
        things = SharedCause.objects.filter(
            cluster__in={cluster for cluster, _, _ in shared},
            rule__in={rule for _, rule, _ in shared},
            thing__in={thing for _, _, thing in shared},
        )
        candidates |= _load(
            Q(pk__in=things.values("finding"), last_seen__gte=since, first_seen__lte=until)
            & ~Q(pk__in=list(candidates))
        )
    return candidates


def _load(condition: Q) -> dict[int, IncidentFinding]:
    rows = Finding.objects.filter(condition).only(*READ).iterator(ROWS_AT_ONCE)
    return {row.pk: from_row(row) for row in rows}


def _write_shared_causes(changed: Iterable[IncidentFinding]) -> None:
    SharedCause.objects.bulk_create(
        [
            SharedCause(
                cluster=row.cluster, rule=row.rule, thing=_shorten(thing), finding_id=row.key
            )
            for row in changed
            for thing in sorted(row.trace.shared)
        ],
        ignore_conflicts=True,
        batch_size=ROWS_AT_ONCE,
    )


def _shorten(thing: str) -> str:
    return thing[:300]


def _new_incident(
    candidates: Mapping[int, IncidentFinding], keys: Iterable[int], now: datetime
) -> Incident:
    first = min(
        (candidates[key] for key in keys), key=lambda finding: (finding.first_seen, finding.key)
    )
    began, last = first.first_seen, first.last_seen
    return Incident(
        cluster=first.cluster,
        rule=first.rule,
        severity_rank=first.rank,
        began_at=began,
        last_seen=last,
        created_at=now,
    )


def _merge(merged: Mapping[int, int]) -> None:
    for merged_id, target in merged.items():
        IncidentMember.objects.filter(incident=merged_id).update(incident=target)
        Incident.objects.filter(merged_into=merged_id).update(merged_into=target)
        Incident.objects.filter(pk=merged_id).update(merged_into=target, state=IncidentState.MERGED)


def _write_members(incident_of: Mapping[int, int]) -> None:
    stored = dict(
        IncidentMember.objects.filter(finding__in=list(incident_of)).values_list(
            "finding_id", "incident_id"
        )
    )
    IncidentMember.objects.bulk_create(
        [
            IncidentMember(incident_id=incident, finding_id=key)
            for key, incident in incident_of.items()
            if key not in stored
        ],
        batch_size=ROWS_AT_ONCE,
    )
