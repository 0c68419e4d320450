"""Alerting evaluates the findings with ``to_alert``. It is set in the transaction that gives a
finding another state, beginning, severity, cause or attempt, not just another occurrence.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.diagnosis import incidents
from webapp.findings.models import Finding

_FIELDS_WITHOUT_MARK = [
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
    """``before``: the mark of the row as read; None for a new row. If the mark has not changed,
    ``to_alert`` stays as it is in the database.
    """
    if row.pk is None or before != FindingMark.of(row):
        row.to_alert = True
        row.save()
    else:
        row.save(update_fields=_FIELDS_WITHOUT_MARK)


def close(pks: Collection[int], at: datetime | None) -> int:
    return Finding.objects.filter(pk__in=pks).update(state="closed", closed_at=at, to_alert=True)
