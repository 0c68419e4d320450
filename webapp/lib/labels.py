"""Labels of alerts: what the matchers of silences and endpoints see."""

from collections.abc import Mapping
from typing import Protocol


class Labelled(Protocol):
    """An alert, as a row or as it stands in a notice."""

    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def cluster(self) -> str: ...
    @property
    def job_name(self) -> str | None: ...
    @property
    def job_id(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def confidence(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def subject_kind(self) -> str: ...
    @property
    def incident_id(self) -> str | None: ...


OF_EACH_ALERT = (
    *("cluster", "job", "job_id", "rule", "family", "severity", "confidence"),
    *("subject", "subject_kind", "incident"),
)


def matched_labels(alert: Labelled) -> dict[str, str]:
    """The same names for all of them, so that a matcher can be moved from one to another."""
    return {
        **alert.labels,
        "cluster": alert.cluster,
        "job": alert.job_name or "",
        "job_id": alert.job_id,
        "rule": alert.rule,
        "family": alert.family,
        "severity": alert.severity,
        "confidence": alert.confidence,
        "subject": alert.subject,
        "subject_kind": alert.subject_kind,
        "incident": alert.incident_id or "",
    }
