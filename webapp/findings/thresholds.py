from collections import defaultdict
from dataclasses import dataclass

from spark_jobs.diagnosis.findings import Threshold
from spark_jobs.diagnosis.rule import Rule
from webapp.findings.figures import figure_text
from webapp.findings.models import ThresholdOverride
from webapp.findings.threshold_names import threshold_name


@dataclass(frozen=True)
class ThresholdRow:
    """``overrides``: the widest scope first."""

    threshold: Threshold
    name: str
    default: str
    bounds: str
    overrides: tuple[ThresholdOverride, ...] = ()

    @property
    def overridden(self) -> list[tuple[str, str, ThresholdOverride]]:
        return [
            (override.scope, figure_text(override.value, self.threshold.unit), override)
            for override in self.overrides
        ]


def rows(rule: Rule) -> list[ThresholdRow]:
    overrides_by_key: dict[str, list[ThresholdOverride]] = defaultdict(list)
    keys = [threshold.key for threshold in rule.thresholds]
    for override in ThresholdOverride.objects.filter(key__in=keys).order_by("cluster", "job_id"):
        overrides_by_key[override.key].append(override)
    return [
        threshold_row(threshold, rule.id, tuple(overrides_by_key[threshold.key]))
        for threshold in rule.thresholds
    ]


def threshold_row(
    threshold: Threshold, rule_id: str, overrides: tuple[ThresholdOverride, ...] = ()
) -> ThresholdRow:
    unit = threshold.unit
    return ThresholdRow(
        threshold,
        threshold_name(threshold, rule_id),
        figure_text(threshold.default, unit),
        f"{figure_text(threshold.minimum, unit)} … {figure_text(threshold.maximum, unit)}",
        overrides,
    )
