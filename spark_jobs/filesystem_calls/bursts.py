"""Calls of many jobs by second: who takes checkpoints together, and how low the peak gets if each
keeps its pace and only begins later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_STARTS = 60
"""Seconds later that are tried for a job, spread over its period."""
Calls = NDArray[np.float64]


@dataclass(frozen=True)
class Written:
    """One checkpoint: its calls, evenly over the seconds from its trigger to its end, counted from
    the begin of the time.
    """

    start_s: float
    duration_s: float
    calls: float


@dataclass(frozen=True)
class Periodic:
    """A job that takes a checkpoint every ``period_s``, the first at ``start_s``."""

    start_s: float
    period_s: float
    duration_s: float
    calls: float


@dataclass(frozen=True)
class Staggered:
    """``later_s``: by job how much later it would begin.

    Peaks are calls in the worst second; ``after`` is never above ``before``.
    """

    before: float
    after: float
    later_s: Sequence[int]


def by_second(checkpoints: Iterable[Written], seconds: int) -> Calls:
    """What lies outside of the seconds is left out."""
    second = np.zeros(seconds)
    for checkpoint in checkpoints:
        first, length = int(checkpoint.start_s // 1), max(1, int(-(-checkpoint.duration_s // 1)))
        second[max(first, 0) : max(first + length, 0)] += checkpoint.calls / length
    return second


def staggered(jobs: Sequence[Periodic], seconds: int) -> Staggered:
    """Jobs of most calls a second first, each begins in the second that leaves the lowest peak
    where it runs, the earliest of these.
    """
    before = float(
        by_second((one for job in jobs for one in checkpoints_of(job, 0, seconds)), seconds).max(
            initial=0
        )
    )
    profile, later = np.zeros(seconds), [0] * len(jobs)
    for place in sorted(
        range(len(jobs)), key=lambda place: -jobs[place].calls / max(jobs[place].duration_s, 1)
    ):
        job = jobs[place]
        tried = sorted(
            {int(start) for start in np.linspace(0, max(job.period_s - 1, 0), MOST_STARTS)}
        )
        profiles = [by_second(checkpoints_of(job, start, seconds), seconds) for start in tried]
        peaks = [float((profile + one)[one > 0].max(initial=0)) for one in profiles]
        best = int(np.argmin(peaks))
        profile, later[place] = profile + profiles[best], tried[best]
    after = float(profile.max(initial=0))
    return (
        Staggered(before, after, later)
        if after < before
        else Staggered(before, before, [0] * len(jobs))
    )


def checkpoints_of(job: Periodic, later_s: int, seconds: int) -> list[Written]:
    """All that are triggered within the seconds."""
    first = (job.start_s + later_s) % job.period_s
    return [
        Written(start, job.duration_s, job.calls)
        for start in np.arange(first, seconds, job.period_s)
    ]
