"""What the address of the findings page asks for, and the rows that answer it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.findings.choices import FindingState, Severity
from webapp.findings.models import Finding
from webapp.findings.querysets import FindingQuerySet
from webapp.lib.keysets import KeysetColumn
from webapp.lib.list_queries import asked_text

ANY_STATE = "any"
WORST_FIRST = (
    KeysetColumn("severity_rank", descending=True),
    KeysetColumn("last_seen", descending=True),
    KeysetColumn("id", descending=True),
)
NEWEST_FIRST = (KeysetColumn("last_seen", descending=True), KeysetColumn("id", descending=True))


@dataclass(frozen=True)
class FindingQuery:
    """Everything the address says; what it says wrongly is as if unsaid. Without a state the open ones are meant."""

    cluster: str = ""
    job_id: str = ""
    rule: str = ""
    severity: str = ""
    state: str = FindingState.OPEN
    cursor: str = ""

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "FindingQuery":
        severity, state = parameters.get("severity", ""), parameters.get("state", "")
        return cls(
            cluster=asked_text(parameters, "cluster"),
            job_id=asked_text(parameters, "job"),
            rule=asked_text(parameters, "rule"),
            severity=severity if severity in Severity.values else "",
            state=state if state in (*FindingState.values, ANY_STATE) else FindingState.OPEN,
            cursor=parameters.get("cursor", ""),
        )

    @property
    def keys(self) -> tuple[KeysetColumn, ...]:
        """Of what is open the worst matters first, of the past the newest."""
        return WORST_FIRST if self.state == FindingState.OPEN else NEWEST_FIRST

    @property
    def is_narrowed(self) -> bool:
        return bool(self.cluster or self.job_id or self.rule or self.severity)

    def findings(self) -> FindingQuerySet:
        """In no order yet."""
        filters = {"cluster": self.cluster, "job_id": self.job_id, "rule": self.rule, "severity": self.severity}
        wanted: dict[str, Any] = {name: value for name, value in filters.items() if value}
        if self.state != ANY_STATE:
            wanted["state"] = self.state
        found: FindingQuerySet = Finding.objects.filter(**wanted)
        return found
