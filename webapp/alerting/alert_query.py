"""What the address of the alerts page asks for, and the rows that answer it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.alerting.choices import OPEN, AlertState, Mute
from webapp.alerting.models import Alert
from webapp.alerting.querysets import AlertQuerySet
from webapp.findings.choices import Severity
from webapp.lib.keysets import KeysetColumn
from webapp.lib.list_queries import asked_text

OPEN_STATE, ANY = "open", "any"
STATES = {
    OPEN_STATE: "open",
    AlertState.FIRING: "firing",
    AlertState.PENDING: "pending",
    AlertState.RESOLVED: "resolved",
    ANY: "open and resolved",
}
YES_NO = ("yes", "no")
WORST_FIRST = (
    KeysetColumn("severity_rank", descending=True),
    KeysetColumn("starts_at", descending=True),
    KeysetColumn("id", descending=True),
)
NEWEST_FIRST = (KeysetColumn("starts_at", descending=True), KeysetColumn("id", descending=True))


@dataclass(frozen=True)
class AlertQuery:
    """Everything the address says; what it says wrongly is as if unsaid. Without a state the open ones are meant."""

    cluster: str = ""
    job_id: str = ""
    rule: str = ""
    severity: str = ""
    acknowledged: str = ""
    silenced: str = ""
    state: str = OPEN_STATE
    cursor: str = ""

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "AlertQuery":
        severity, state = parameters.get("severity", ""), parameters.get("state", "")
        acknowledged, silenced = parameters.get("acknowledged", ""), parameters.get("silenced", "")
        return cls(
            cluster=asked_text(parameters, "cluster"),
            job_id=asked_text(parameters, "job"),
            rule=asked_text(parameters, "rule"),
            severity=severity if severity in Severity.values else "",
            acknowledged=acknowledged if acknowledged in YES_NO else "",
            silenced=silenced if silenced in YES_NO else "",
            state=state if state in STATES else OPEN_STATE,
            cursor=parameters.get("cursor", ""),
        )

    @property
    def keys(self) -> tuple[KeysetColumn, ...]:
        """Of what is open the worst matters first, of the past the newest."""
        return NEWEST_FIRST if self.state in (AlertState.RESOLVED, ANY) else WORST_FIRST

    @property
    def is_narrowed(self) -> bool:
        return bool(self.cluster or self.job_id or self.rule or self.severity or self.acknowledged or self.silenced)

    def alerts(self) -> AlertQuerySet:
        """In no order yet."""
        filters = {"cluster": self.cluster, "job_id": self.job_id, "rule": self.rule, "severity": self.severity}
        wanted: dict[str, Any] = {name: value for name, value in filters.items() if value}
        if self.acknowledged:
            wanted["acknowledged_at__isnull"] = self.acknowledged == "no"
        found: AlertQuerySet = Alert.objects.filter(**wanted)
        if self.silenced:
            found = found.filter(muted_by=Mute.NONE) if self.silenced == "no" else found.exclude(muted_by=Mute.NONE)
        if self.state == OPEN_STATE:
            return found.filter(state__in=OPEN)
        return found if self.state == ANY else found.filter(state=self.state)
