"""Which part of a time range was judged: only there does a lack of findings mean something."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

WINDOW = timedelta(minutes=1)

Gap = tuple[datetime, datetime]


@dataclass(frozen=True)
class Coverage:
    """``gaps``: the unjudged parts between ``start`` and ``end``, in order; ``judged``: the parts
    between them.
    """

    start: datetime
    end: datetime
    judged: timedelta
    gaps: tuple[Gap, ...]

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
    def longest_gaps(self) -> list[Gap]:
        return sorted(sorted(self.gaps, key=lambda gap: gap[0] - gap[1])[:3])


def tolerated() -> timedelta:
    """The tolerated gap: clusters are not read every minute, so the time between two readings is
    not missing.
    """
    return timedelta(seconds=settings.WEIR.judged_every_s) + 2 * WINDOW


def coverage(runs: Iterable[Any], start: datetime, end: datetime) -> Coverage:
    """``runs``: as ``job_judgement`` has them, ``[{"first", "last"}]`` in epoch s.

    An empty range is never complete.
    """
    if end <= start:
        return Coverage(start, end, timedelta(), ((start, end),))
    gaps: list[Gap] = []
    reached = start
    for first, last in _spans(runs):
        if last <= start or first >= end:
            continue
        if first - reached > tolerated():
            gaps.append((reached, first))
        reached = max(reached, last)
    if end - reached > tolerated() or reached == start:
        gaps.append((reached, end))
    missing = sum((until - since for since, until in gaps), timedelta())
    return Coverage(start, end, end - start - missing, tuple(gaps))


def judged_slices(runs: Iterable[Any], start: datetime, end: datetime, slices: int) -> list[bool]:
    """Whether any part of each slice was judged; ``runs`` as in :func:`coverage`. The time between
    two readings of a cluster counts as judged.
    """
    first_s, air_s = start.timestamp(), (tolerated() + WINDOW).total_seconds()
    width_s = (end.timestamp() - first_s) / slices
    judged = [False] * slices
    for run in runs:
        if isinstance(run, dict):
            begins = max(int((run["first"] - first_s) // width_s), 0)
            ends = min(int((run["last"] + air_s - first_s) // width_s), slices - 1)
            judged[begins : ends + 1] = [True] * max(ends + 1 - begins, 0)
    return judged


def _spans(runs: Iterable[Any]) -> Sequence[Gap]:
    gaps = [
        (
            datetime.fromtimestamp(run["first"], UTC),
            datetime.fromtimestamp(run["last"], UTC) + WINDOW,
        )
        for run in runs
        if isinstance(run, dict)
    ]
    return sorted(gaps)
