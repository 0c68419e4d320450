"""Marks tell alerting of findings: set in the transaction that opens, ends or changes one. Only
changes of beginning, end, severity, causes and attempt set a mark, not another occurrence.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.diagnosis import incidents
from webapp.findings.models import Finding

_UNMARKED = [
    field.name for field in Finding._meta.concrete_fields if field.name not in ("id", "to_alert")
]


@dataclass(frozen=True)
class FindingMark:
    state: str
    first_seen: datetime
    severity: str
    job_id: str
    causes: frozenset[str]

    @classmethod
    def of(cls, row: Finding) -> "FindingMark":
        return cls(row.state, row.first_seen, row.severity, row.job_id, causes_of(row))


def causes_of(row: Finding) -> frozenset[str]:
    return incidents.connecting_causes(row.rule, row.data or {})


def save(row: Finding, before: FindingMark | None) -> None:
    """``before``: of the row as read; None for a new one. Without a change, the current mark is
    kept.
    """
    if row.pk is None or before != FindingMark.of(row):
        row.to_alert = True
        row.save()
    else:
        row.save(update_fields=_UNMARKED)


def close(pks: Collection[int], at: datetime | None) -> int:
    return Finding.objects.filter(pk__in=pks).update(state="closed", closed_at=at, to_alert=True)
