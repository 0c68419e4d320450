from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from spark_jobs.diagnosis.findings import Evidence, Finding, Related
from spark_jobs.diagnosis.samples import RecoveryPoint

_FIELD_NAMES = {
    kind: tuple(field.name for field in fields(kind)) for kind in (Finding, Evidence, Related)
}


def recovery_point_from_plain(plain: Mapping[str, Any]) -> RecoveryPoint:
    names = {field.name for field in fields(RecoveryPoint)}
    return RecoveryPoint(
        **{name: value for name, value in plain.items() if name in names and value is not None}
    )


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    nested = {
        "evidence": tuple(map(_fields, finding.evidence)),
        "related": tuple(map(_fields, finding.related)),
    }
    return _fields(finding) | nested


def _fields(record: Finding | Evidence | Related) -> dict[str, Any]:
    return {name: getattr(record, name) for name in _FIELD_NAMES[type(record)]}
