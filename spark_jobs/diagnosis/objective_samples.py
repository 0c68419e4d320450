"""How fast a job uses the error budget of an objective. Windows and factors are those of Google's
"Site Reliability Workbook", chapter 5. A burn rate of 1 uses the budget of 30 days in 30 days.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Severity, Subject

HOUR_MIN = 60


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """Both a long and a short window (in minutes) must burn at least ``factor`` times as fast as
    allowed. The long window shows that the loss matters, the short one that it continues.
    """

    name: str
    long_min: int
    short_min: int
    factor: float
    severity: Severity


BURN_WINDOWS = (
    BurnWindow("fast_burn", HOUR_MIN, 5, 14.4, "critical"),
    BurnWindow("steady_burn", 6 * HOUR_MIN, 30, 6.0, "critical"),
    BurnWindow("slow_burn", 72 * HOUR_MIN, 6 * HOUR_MIN, 1.0, "warning"),
)


LEAST_OBSERVED = 1 / 6
"""Least share of the long window: a first bad minute does not judge a new objective."""


@dataclass(frozen=True)
class ObjectiveKind:
    """``has_limit``: whether there is a longest good duration. ``good``: what counts as good.
    ``least_judged``: fewest minutes, checkpoints or seconds in the long window.
    """

    rule: str
    good: str
    title: str
    summary: str
    cause: str
    next_step: str
    has_limit: bool = False
    least_judged: int = 5


OBJECTIVE_KINDS: Mapping[str, ObjectiveKind] = {
    "checkpoints": ObjectiveKind(
        "checkpoint_success.objective",
        message("checkpoints that complete"),
        message("Checkpoints burn their objective"),
        message("Checkpoints fail faster than the objective of the job allows."),
        message("Checkpoints failed, and did not complete."),
        message(
            "Open the job: the findings on its checkpoints name the phase and the subtask. Until "
            "they complete again, do not restart the job: it would repeat more and more."
        ),
    ),
    "recovery_point": ObjectiveKind(
        "recovery_point.objective",
        message("minutes with a recovery point that is recent enough"),
        message("The recovery point is older than its objective"),
        message(
            "A restart would repeat more than the objective of the job allows, for too many minutes."
        ),
        message("The newest completed checkpoint was older than the objective allows."),
        message(
            "Open the job: its newest checkpoints show why none completes, or that the interval is "
            "longer than the objective. Until one completes, do not restart the job."
        ),
        has_limit=True,
    ),
    "freshness": ObjectiveKind(
        "freshness.objective",
        message("minutes in which emitted records are recent enough"),
        message("Results are older than their objective"),
        message(
            "Records leave the sources later than the objective of the job allows, for too many "
            "minutes."
        ),
        message(
            "Records were older by event time than the objective allows when they were emitted."
        ),
        message(
            "Open the job: its source lag shows which source falls behind and since when, its "
            "pressure which vertex holds it back."
        ),
        has_limit=True,
    ),
    "availability": ObjectiveKind(
        "availability.objective",
        message("time in which all tasks of the job run"),
        message("A job runs less than its objective"),
        message("The tasks of the job did not run for longer than its objective allows."),
        message("The job was starting, restarting, failing or waiting for slots."),
        message(
            "Open the job: its findings on restarts name the first failure and what keeps the loop "
            "going."
        ),
        least_judged=5 * 60,
    ),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """``bad`` of ``total`` judged minutes, checkpoints or seconds missed the objective."""

    bad: int = 0
    total: int = 0

    def burn(self, target: float) -> float | None:
        """1 is as fast as allowed; None if nothing could be judged."""
        return self.bad / self.total / (1 - target) if self.total else None

    def budget_left(self, target: float) -> float | None:
        """1 all, 0 none, negative if overdrawn; None if nothing was judged."""
        burn = self.burn(target)
        return None if burn is None else 1 - burn


@dataclass(frozen=True, slots=True)
class ObjectiveBurn:
    """``kind``: a key of ``OBJECTIVE_KINDS``. ``target``: the required good share. ``limit_ms``:
    the longest good duration; ``value_ms``: the present one. ``counts``: by length of the window in
    minutes. ``budget``: counts of 30 days.
    """

    cluster: str
    job_id: str
    job_name: str
    objective: str
    kind: str
    target: float
    at_ms: int
    counts: dict[int, Counts]
    budget: Counts
    observed_min: int
    limit_ms: int | None = None
    value_ms: float | None = None

    @property
    def subject(self) -> Subject:
        return "job", f"objective {self.objective}", self.job_name or self.job_id

    def burn_rates(self, window: BurnWindow) -> tuple[float, float] | None:
        """Rates of the long and the short window; None if too little was observed."""
        counts = self.counts[window.long_min]
        long, short = counts.burn(self.target), self.counts[window.short_min].burn(self.target)
        is_judged = (
            self.observed_min >= window.long_min * LEAST_OBSERVED
            and counts.total >= OBJECTIVE_KINDS[self.kind].least_judged
        )
        return (long, short) if is_judged and long is not None and short is not None else None
