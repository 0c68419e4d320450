"""Thresholds: every figure a rule compares with, declared beside the rule, with its unit, its
bounds and the reason for its default.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.diagnosis.findings import Evidence


@dataclass(frozen=True, slots=True)
class Threshold:
    """``key`` is ``<rule id>.<name>``. An override outside ``minimum``..``maximum`` is refused."""

    key: str
    default: float
    unit: str
    minimum: float
    maximum: float
    reason: str

    def __post_init__(self) -> None:
        if not self.allows(self.default):
            raise ValueError(
                f"{self.key}: the default {self.default} is not within "
                f"{self.minimum}..{self.maximum}"
            )

    def allows(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum


class Limits:
    """The thresholds in force for one job: ``limits["pressure.root.busy_ratio"]``.

    Raises ValueError for an override of an unknown key or out of bounds, KeyError for an unknown
    key asked for.
    """

    def __init__(
        self, thresholds: Iterable[Threshold], overrides: Mapping[str, float] | None = None
    ) -> None:
        known = {threshold.key: threshold for threshold in thresholds}
        self._values = {key: threshold.default for key, threshold in known.items()}
        for key, value in (overrides or {}).items():
            if key not in known:
                raise ValueError(f"There is no threshold {key!r}.")
            if not known[key].allows(value):
                raise ValueError(
                    (
                        f"{key} must lie within {known[key].minimum:g} and {known[key].maximum:g} "
                        f"{known[key].unit}."
                    ).replace(" .", ".")
                )
            self._values[key] = value

    def __getitem__(self, key: str) -> float:
        return self._values[key]

    def compared(
        self,
        name: str,
        value: float | int | None,
        unit: str,
        comparison: str,
        key: str,
        at_ms: int | None = None,
        note: str = "",
    ) -> Evidence:
        return Evidence(name, value, unit, self[key], comparison, key, at_ms, note)
