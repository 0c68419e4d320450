"""What if a threshold were different: one rule over past minutes of one job, with the thresholds in
force and with others.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.registry import diagnose, limits
from spark_jobs.diagnosis.rule import Rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.thresholds import Limits, Threshold
from webapp.alerting.what_if.past_windows import PastWindows
from webapp.findings.episodes import Span, episodes
from webapp.findings.figures import figure_text
from webapp.findings.overrides import limits_of
from webapp.findings.threshold_names import threshold_name
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_of

_STEPS = (1, 2, 3, 5, 7)
_FEW = 40
"""Positions of a slider: fine enough to choose, few enough to aim at."""


@dataclass(frozen=True)
class Fired:
    """One episode of the rule, as its newest finding describes it."""

    first: datetime
    last: datetime
    finding: Finding


@dataclass(frozen=True)
class WhatIfOutcome:
    """``minutes`` is in how many of the judged ones the rule fired; ``unknown`` in how many it
    could not judge.
    """

    fired: tuple[Fired, ...]
    minutes: int
    unknown: int
    lacked: str

    @property
    def critical(self) -> int:
        """How many of them would have been critical at their end."""
        return sum(one.finding.severity == "critical" for one in self.fired)


@dataclass(frozen=True)
class Slider:
    """A threshold to move: ``values`` its positions, ``words`` the same as people read them."""

    threshold: Threshold
    name: str
    value: float
    in_force: float
    values: tuple[float, ...]
    words: tuple[str, ...]

    @property
    def position(self) -> int:
        """Of the value nearest to the chosen one."""
        return min(range(len(self.values)), key=lambda at: abs(self.values[at] - self.value))

    @property
    def value_words(self) -> str:
        return figure_text(self.value, self.threshold.unit)

    @property
    def in_force_words(self) -> str:
        return figure_text(self.in_force, self.threshold.unit)

    @property
    def is_moved(self) -> bool:
        return self.value != self.in_force


def in_force(job: JobCurrent) -> Limits:
    return limits_of(job.cluster, job.job_id, job.name)


def judged(rule: Rule, past: PastWindows, thresholds: Limits) -> WhatIfOutcome:
    seen: dict[str, list[tuple[JobWindow, Finding]]] = {}
    unknown, lacked = 0, ""
    minutes = set()
    for window in past.windows:
        diagnosis = diagnose(window, thresholds, only=[rule.id])
        for finding in diagnosis.findings:
            seen.setdefault(finding.subject_id, []).append((window, finding))
            minutes.add(window.window_start_ms)
        if diagnosis.unknowns:
            unknown, lacked = unknown + 1, diagnosis.unknowns[-1].missing
    fired = [
        episode
        for of_subject in seen.values()
        for episode in _episodes(of_subject, timedelta(seconds=rule.hold_s))
    ]
    return WhatIfOutcome(
        tuple(sorted(fired, key=lambda one: one.first)), len(minutes), unknown, lacked
    )


def proposed(
    rule: Rule, present: Limits, entered: Mapping[str, str]
) -> tuple[Limits, list[Slider], list[str]]:
    """Limits with what was asked for, the sliders, and what cannot be used; ``asked`` holds texts
    by threshold key.
    """
    values, errors = {}, []
    for threshold in rule.thresholds:
        text = entered.get(threshold.key, "").strip()
        value = present[threshold.key]
        if text:
            try:
                value = float(text)
                limits({threshold.key: value})
            except ValueError:
                lowest, highest = (
                    figure_text(bound, threshold.unit)
                    for bound in (threshold.minimum, threshold.maximum)
                )
                errors.append(
                    gettext(
                        "%(threshold)s must be a number from %(minimum)s to %(maximum)s "
                        "(%(lowest)s to %(highest)s)."
                    )
                    % {
                        "threshold": threshold.key,
                        "minimum": f"{threshold.minimum:g}",
                        "maximum": f"{threshold.maximum:g}",
                        "lowest": lowest,
                        "highest": highest,
                    }
                )
                value = present[threshold.key]
        values[threshold.key] = value
    sliders = [
        _slider(rule, threshold, values[threshold.key], present[threshold.key])
        for threshold in rule.thresholds
    ]
    return limits(values), sliders, errors


def _episodes(seen: list[tuple[JobWindow, Finding]], hold: timedelta) -> list[Fired]:
    spans = [
        Span(_at(finding.seen_at_ms), _at(finding.seen_at_ms), number, _at(window.window_start_ms))
        for number, (window, finding) in enumerate(seen)
    ]
    return [
        Fired(episode.first_seen, episode.last_seen, seen[episode.newest.occurrence_id or 0][1])
        for episode in episodes(spans, hold)
    ]


def _slider(rule: Rule, threshold: Threshold, value: float, present: float) -> Slider:
    from_to = _positions(threshold.minimum, threshold.maximum)
    values = tuple(sorted({*from_to, value, present, threshold.default}))
    return Slider(
        threshold,
        threshold_name(threshold, rule.id),
        value,
        present,
        values,
        tuple(figure_text(value, threshold.unit) for value in values),
    )


def _positions(low: float, high: float) -> list[float]:
    """Even, round steps where the range is narrow; 1, 2, 3, 5, 7, 10, … where it spans more than a
    hundredfold.
    """
    if low <= 0 or high / low <= 100:
        least = (high - low) / _FEW or 1.0
        power = 10.0 ** math.floor(math.log10(least))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)
        inside = [
            round(step * number, 9)
            for number in range(math.floor(low / step) + 1, math.ceil(high / step))
        ]
        return [low, *inside, high]
    positions, power = [low, high], 1.0
    while power <= high:
        positions += [step * power for step in _STEPS if low < step * power < high]
        power *= 10
    return sorted(set(positions))


def _at(instant_ms: int) -> datetime:
    return instant_of(instant_ms)
