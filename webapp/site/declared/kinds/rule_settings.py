"""Settings and thresholds of rules: everywhere, of a cluster, or of a job. A job has its id, and its
name if it has one: then the entry holds for all jobs of this name on the cluster.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from spark_jobs.diagnosis.registry import all_rules, all_thresholds
from webapp.alerting import setting_actions
from webapp.alerting.models import RuleSetting
from webapp.findings.choices import Severity
from webapp.findings.models import ThresholdOverride
from webapp.lib.refusals import InputRefused
from webapp.site.declared.kind import Entry, Kind

SCOPE = ("cluster", "job_id", "job_name")
_TEXT = {"type": "string", "default": ""}
_SCOPE_PROPERTIES: dict[str, dict[str, Any]] = {
    "cluster": {**_TEXT, "maxLength": 100, "description": "omitted: all clusters"},
    "job_id": {**_TEXT, "maxLength": 64, "description": "omitted: all jobs of the cluster"},
    "job_name": {**_TEXT, "maxLength": 300, "description": "name of the job job_id"},
}
_HOLD = {"type": "integer", "minimum": 0, "maximum": setting_actions.LONGEST_HOLD_S}


def _scope(entry: Entry) -> dict[str, str]:
    """Raises :class:`InputRefused`."""
    scope = {name: str(entry.get(name, "")) for name in SCOPE}
    if scope["job_id"] and not scope["cluster"]:
        raise InputRefused("A job needs its cluster.")
    if scope["job_name"] and not scope["job_id"]:
        raise InputRefused("A job_name needs its job_id.")
    return scope


def _key(identity: str, entry: Entry) -> str:
    return " ".join((identity, *filter(None, (entry.get("cluster"), entry.get("job_id")))))


class Rules(Kind):
    """Severity, hold times, and whether a rule alerts."""

    name = "rules"
    columns = frozenset({*SCOPE, "rule", *setting_actions.COLUMNS})
    required = ("rule",)

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "rule": {"enum": [*all_rules()]},
            **_SCOPE_PROPERTIES,
            "severity": {"enum": [*Severity.values], "description": "instead of the rule's own"},
            "alerts": {"type": "boolean", "description": "whether it alerts at all"},
            "hold_before_s": {**_HOLD, "description": "seconds seen before it alerts"},
            "hold_after_s": {**_HOLD, "description": "seconds gone before it is resolved"},
        }

    def rows(self) -> Any:
        return RuleSetting.objects.order_by("rule", "cluster", "job_id")

    def key(self, entry: Entry) -> str:
        return _key(entry["rule"], entry)

    def entry(self, row: RuleSetting) -> Entry:
        entry = {name: getattr(row, name) for name in self.properties}
        return self.without_defaults(entry | {"severity": row.severity or None})

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        scope = _scope(entry)
        stated = {name: entry.get(name) for name in setting_actions.COLUMNS}
        stated |= {"severity": entry.get("severity", "")}
        if all(value in (None, "") for value in stated.values()):
            raise InputRefused("Nothing is set: state a severity, a hold time, or alerts.")
        setting = cast("RuleSetting", row or RuleSetting(rule=entry["rule"]))
        for column, value in (scope | stated | {"author_name": "files"}).items():
            setattr(setting, column, value)
        setting.save()
        setting_actions.mark_for_evaluation(setting)
        return []

    def remove(self, row: RuleSetting) -> None:
        setting_actions.remove(row)


class Thresholds(Kind):
    name = "thresholds"
    columns = frozenset({*SCOPE, "key", "value"})
    required = ("key", "value")

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "key": {"enum": [threshold.key for threshold in all_thresholds()]},
            "value": {"type": "number"},
            **_SCOPE_PROPERTIES,
        }

    def rows(self) -> Any:
        return ThresholdOverride.objects.order_by("key", "cluster", "job_id")

    def key(self, entry: Entry) -> str:
        return _key(entry["key"], entry)

    def normalised(self, entry: Entry) -> Entry:
        return entry | {"value": float(entry["value"])}

    def entry(self, row: ThresholdOverride) -> Entry:
        return self.without_defaults({name: getattr(row, name) for name in self.properties})

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        threshold = next(each for each in all_thresholds() if each.key == entry["key"])
        if not threshold.allows(entry["value"]):
            raise InputRefused(
                f"The value must be from {threshold.minimum:g} to {threshold.maximum:g} "
                f"{threshold.unit}."
            )
        override = cast("ThresholdOverride", row or ThresholdOverride(key=entry["key"]))
        for column, value in (_scope(entry) | {"value": entry["value"], "author": None}).items():
            setattr(override, column, value)
        override.save()
        return []
