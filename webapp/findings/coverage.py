"""Which part of a time range was judged. Only in that part is a lack of findings a good sign."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

WINDOW = timedelta(minutes=1)

Interval = tuple[datetime, datetime]


@dataclass(frozen=True)
class Coverage:
    """``gaps``: the unjudged parts, in order; ``judged``: total length of the judged parts."""

    start: datetime
    end: datetime
    judged: timedelta
    gaps: tuple[Interval, ...]

    @property
    def is_whole(self) -> bool:
        return not self.gaps

    @property
    def is_empty(self) -> bool:
        return self.judged <= timedelta()

    @property
    def judged_ms(self) -> float:
        return self.judged / timedelta(milliseconds=1)

    @property
    def whole_ms(self) -> float:
        return max(self.end - self.start, timedelta()) / timedelta(milliseconds=1)

    @property
    def longest_gaps(self) -> list[Interval]:
        return sorted(sorted(self.gaps, key=lambda gap: gap[0] - gap[1])[:3])


def tolerated_gap() -> timedelta:
    """Clusters are not read every minute, so the time between two readings is no gap."""
    return timedelta(seconds=settings.WEIR.judged_every_s) + 2 * WINDOW


def coverage(runs: Iterable[Any], start: datetime, end: datetime) -> Coverage:
    """``runs``: ``covered`` of ``job_judgement``, ``[{"first", "last"}]`` in epoch s. An empty
    range is one gap.
    """
    if end <= start:
        return Coverage(start, end, timedelta(), ((start, end),))
    gaps: list[Interval] = []
    judged_until = start
    for first, last in _spans(runs):
        if last <= start or first >= end:
            continue
        if first - judged_until > tolerated_gap():
            gaps.append((judged_until, first))
        judged_until = max(judged_until, last)
    if end - judged_until > tolerated_gap() or judged_until == start:
        gaps.append((judged_until, end))
    missing = sum((until - since for since, until in gaps), timedelta())
    return Coverage(start, end, end - start - missing, tuple(gaps))


def judged_slices(runs: Iterable[Any], start: datetime, end: datetime, slices: int) -> list[bool]:
    """Whether any part of each slice was judged; ``runs`` as in :func:`coverage`."""
    start_s, tolerated_s = start.timestamp(), (tolerated_gap() + WINDOW).total_seconds()
    width_s = (end.timestamp() - start_s) / slices
    judged = [False] * slices
    for run in runs:
        if isinstance(run, dict):
            first = max(int((run["first"] - start_s) // width_s), 0)
            last = min(int((run["last"] + tolerated_s - start_s) // width_s), slices - 1)
            judged[first : last + 1] = [True] * max(last + 1 - first, 0)
    return judged


def _spans(runs: Iterable[Any]) -> Sequence[Interval]:
    return sorted(
        (
            datetime.fromtimestamp(run["first"], UTC),
            datetime.fromtimestamp(run["last"], UTC) + WINDOW,
        )
        for run in runs
        if isinstance(run, dict)
    )
