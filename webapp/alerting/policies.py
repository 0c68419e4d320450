from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from webapp.alerting.choices import LEAST_RANK
from webapp.alerting.lifecycle import Policy
from webapp.alerting.models import RuleSetting
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, RemovedCluster
from webapp.lib.instants import instant_text

WEIR = "weir"
HOLD_BEFORE = timedelta()
HOLD_AFTER = timedelta(seconds=120)
"""Added to the hold time of the rule, after which its finding is closed."""

Scope = tuple[str, str, str, str]
"""rule, cluster, job id, job name; "" means all."""


@dataclass(frozen=True)
class RulePolicy:
    """``severity``: "" for that of the finding."""

    severity: str = ""
    alerts: bool = True
    hold_before: timedelta = HOLD_BEFORE
    hold_after: timedelta = HOLD_AFTER

    def rank(self, finding_rank: int) -> int:
        return SEVERITY_RANK[Severity(self.severity)] if self.severity else finding_rank

    def policy(self, finding_rank: int, *, recorded: bool) -> Policy:
        return Policy(
            self.alerts and self.rank(finding_rank) >= LEAST_RANK,
            self.hold_before,
            self.hold_after,
            recorded,
        )


class Policies:
    def __init__(self) -> None:
        self._settings: dict[Scope, RuleSetting] = {}
        for row in RuleSetting.objects.all():
            self._settings[row.rule, row.cluster, row.job_id, ""] = row
            if row.job_name:
                self._settings[row.rule, row.cluster, "", row.job_name] = row
        self._clusters = {
            name: (kind, labels)
            for name, kind, labels in Cluster.objects.values_list("name", "kind", "labels")
        }
        self._removed = {row.name: row for row in RemovedCluster.objects.all()}
        self._policies: dict[Scope, RulePolicy] = {}

    def is_recorded(self, cluster: str) -> bool:
        return self._clusters.get(cluster, ("", {}))[0] == ClusterKind.RECORDING

    def labels(self, cluster: str, rule: str = "") -> dict[str, str]:
        if not cluster:
            return {"kind": WEIR if rule.startswith(f"{WEIR}.") else "storage"}
        return {
            **self._clusters.get(cluster, ("", {}))[1],
            "kind": "recording" if self.is_recorded(cluster) else "live",
        }

    def policy(
        self, rule: str, cluster: str, job_id: str, name: str | None, finding_rank: int
    ) -> Policy:
        policy = self.rule_policy(rule, cluster, job_id, name).policy(
            finding_rank, recorded=self.is_recorded(cluster)
        )
        return replace(policy, alerts=False) if cluster in self._removed else policy

    def why_ended(self, cluster: str) -> str:
        """The sentence if the cluster was removed; "" if alerts ended since their rule fires no
        more.
        """
        removed = self._removed.get(cluster)
        if removed is None:
            return ""
        return (
            f"Cluster {cluster} {removed.how} at {instant_text(removed.removed_at)}: it is no "
            "longer watched, and its state is unknown."
        )

    def rule_policy(
        self, rule: str, cluster: str, job_id: str, name: str | None = None
    ) -> RulePolicy:
        scope = (rule, cluster, job_id, name or "")
        if scope not in self._policies:
            self._policies[scope] = self._narrowest(scope)
        return self._policies[scope]

    def _narrowest(self, scope: Scope) -> RulePolicy:
        rule, cluster, job_id, name = scope
        narrowest_first = (
            (rule, cluster, job_id, ""),
            (rule, cluster, "", name),
            (rule, cluster, "", ""),
            (rule, "", "", ""),
        )
        rows = [self._settings[key] for key in narrowest_first if key in self._settings]

        def first(column: str, default: Any) -> Any:
            values = (getattr(row, column) for row in rows)
            return next((value for value in values if value not in (None, "")), default)

        return RulePolicy(
            first("severity", ""),
            first("alerts", True),
            timedelta(seconds=first("hold_before_s", HOLD_BEFORE.total_seconds())),
            timedelta(seconds=first("hold_after_s", HOLD_AFTER.total_seconds())),
        )
