from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from spark_jobs.diagnosis.findings import Evidence, Finding, Related
from spark_jobs.diagnosis.samples import RecoveryPoint

_MEMBERS = {
    part: tuple(field.name for field in fields(part)) for part in (Finding, Evidence, Related)
}


def recovery_point_from_plain(plain: Mapping[str, Any]) -> RecoveryPoint:
    names = {field.name for field in fields(RecoveryPoint)}
    return RecoveryPoint(
        **{name: value for name, value in plain.items() if name in names and value is not None}
    )


def finding_to_plain(finding: Finding) -> dict[str, Any]:
    parts = {
        "evidence": tuple(map(_members, finding.evidence)),
        "related": tuple(map(_members, finding.related)),
    }
    return _members(finding) | parts


def _members(part: Finding | Evidence | Related) -> dict[str, Any]:
    return {name: getattr(part, name) for name in _MEMBERS[type(part)]}
