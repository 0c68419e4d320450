"""Labels of alerts, for matchers of silences and endpoints."""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from webapp.lib.matchers import Matcher


class Labelled(Protocol):
    """An alert, as a row or in a notice."""

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


_OF_ALERT: dict[str, Callable[[Labelled], str]] = {
    "cluster": lambda alert: alert.cluster,
    "job": lambda alert: alert.job_name or "",
    "job_id": lambda alert: alert.job_id,
    "rule": lambda alert: alert.rule,
    "family": lambda alert: alert.family,
    "severity": lambda alert: alert.severity,
    "confidence": lambda alert: alert.confidence,
    "subject": lambda alert: alert.subject,
    "subject_kind": lambda alert: alert.subject_kind,
    "incident": lambda alert: alert.incident_id or "",
}
OF_EACH_ALERT = frozenset(_OF_ALERT)


def accept_every_alert(
    matchers: Collection[Matcher], known: Collection[str] = OF_EACH_ALERT
) -> bool:
    """Whether each of them is of a label that is not ``known``, and accepts what lacks it."""
    return all(matcher.label not in known and matcher.accepts("") for matcher in matchers)


def matched_labels(alert: Labelled) -> dict[str, str]:
    """Labels by name, the same for rows and notices, so that matchers can be reused."""
    return {**alert.labels, **{name: label(alert) for name, label in _OF_ALERT.items()}}
