"""What every bench reports to: one line per figure, with its ratio to a baseline and whether its
budget holds.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1) + 0.5)]


@dataclass(frozen=True)
class Figure:
    """One measured value.

    ``baseline`` is the yardstick measured in the same run and unit. ``budget`` (at most) and
    ``at_least`` bound the ratio ``value / baseline`` where a baseline is given, else the value
    itself.
    """

    name: str
    value: float
    unit: str
    baseline: float | None = None
    budget: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.value / self.baseline if self.baseline else None

    @property
    def bounded(self) -> float:
        return self.value if self.ratio is None else self.ratio

    @property
    def holds(self) -> bool | None:
        """``None`` where no bound was given."""
        if self.budget is None and self.at_least is None:
            return None
        return (self.budget is None or self.bounded <= self.budget) and (
            self.at_least is None or self.bounded >= self.at_least
        )

    def __str__(self) -> str:
        unit = "×" if self.ratio is not None else self.unit
        text = f"{self.name:<58} {self.value:>12,.3g} {self.unit:<8}"
        text += f" = {self.ratio:.2f} × {self.baseline:,.3g}" if self.ratio is not None else ""
        text += f"  budget ≤ {self.budget:g} {unit}" if self.budget is not None else ""
        text += f"  goal ≥ {self.at_least:g} {unit}" if self.at_least is not None else ""
        return text + {True: "  ok", False: "  MISSED", None: ""}[self.holds]


@dataclass
class Report:
    """Called by benches as ``report("name", 3.2, "s", baseline=1.1, budget=10)``; prints at once
    and remembers.
    """

    out: TextIO = field(default_factory=lambda: sys.stdout)
    figures: list[Figure] = field(default_factory=list)

    def __call__(
        self,
        name: str,
        value: float,
        unit: str,
        baseline: float | None = None,
        budget: float | None = None,
        at_least: float | None = None,
    ) -> Figure:
        figure = Figure(name, value, unit, baseline, budget, at_least)
        self.figures.append(figure)
        print(figure, file=self.out, flush=True)
        return figure

    @property
    def missed(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.holds is False]


Bench = Callable[[Report], None]
