"""Labels of alerts, for matchers of silences and endpoints."""

from collections.abc import Collection
from typing import Any

from webapp.lib.matchers import Matcher

_FIELDS = {
    "cluster": "cluster",
    "job": "job_name",
    "job_id": "job_id",
    "rule": "rule",
    "family": "family",
    "severity": "severity",
    "confidence": "confidence",
    "subject": "subject",
    "subject_kind": "subject_kind",
    "incident": "incident_id",
}
"""Label → attribute of an alert, as a row or in a notice."""
OF_EACH_ALERT = frozenset(_FIELDS)


def accept_every_alert(
    matchers: Collection[Matcher], known: Collection[str] = OF_EACH_ALERT
) -> bool:
    """Whether each of them is of a label that is not ``known``, and accepts what lacks it."""
    return all(matcher.label not in known and matcher.accepts("") for matcher in matchers)


def matched_labels(alert: Any) -> dict[str, str]:
    """Labels by name, the same for rows and notices, so that matchers can be reused."""
    return {
        **alert.labels,
        **{label: getattr(alert, name) or "" for label, name in _FIELDS.items()},
    }
