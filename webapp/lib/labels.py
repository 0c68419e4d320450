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
"""Label → attribute of an alert, which is a row or part of a notice."""
OF_EACH_ALERT = frozenset(_FIELDS)


def accept_every_alert(
    matchers: Collection[Matcher], known: Collection[str] = OF_EACH_ALERT
) -> bool:
    """Whether each matcher accepts alerts without its label, which no alert has to have."""
    return all(matcher.label not in known and matcher.accepts("") for matcher in matchers)


def matched_labels(alert: Any) -> dict[str, str]:
    """Label → value; rows and notices have the same labels."""
    return {
        **alert.labels,
        **{label: getattr(alert, name) or "" for label, name in _FIELDS.items()},
    }
