"""What the parts of observed outages come to: how long one task alone would be away, and what spare
slots would save.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from webapp.lib.outage import Outage

ALONE = ("detect", "redeploy", "restore")
"""Of a task that comes back by itself: nothing else is cancelled, and it takes a slot that is
free.
"""


@dataclass(frozen=True)
class Phases:
    """Medians over ``outages``, None where none of them knows it.

    ``alone_ms``: the phases of one task that comes back alone.
    """

    outages: int
    downtime_ms: float | None
    wait_ms: float | None
    alone_ms: float | None


@dataclass(frozen=True)
class SpareSlots:
    """``saved_ms``: by how much the wait of outages in which TaskManagers were lost is longer than
    ``usual_ms``, that of the others (or the delay of the restart strategy, where there are none).
    ``slots`` of one TaskManager is what has to be spare.
    """

    outages: int
    lost_wait_ms: float
    usual_ms: float
    saved_ms: float
    slots: int | None


def phases(outages: Iterable[Outage]) -> Phases:
    every = list(outages)
    alone = [_sum(outage, ALONE) for outage in every if outage.part_ms["restore"] is not None]
    return Phases(
        len(every),
        _median(outage.downtime_ms for outage in every),
        _median(_waited(outage) for outage in every),
        median(alone) if alone else None,
    )


def spare_slots(
    observed: Sequence[tuple[Outage, int]], delay_ms: float | None, slots: int | None
) -> SpareSlots | None:
    """``found``: outages with how many TaskManagers were lost; None where no TaskManager was, or
    what is usual is not known.
    """
    lost = [waited for outage, dead in observed if dead and (waited := _waited(outage)) is not None]
    others = [
        waited for outage, dead in observed if not dead and (waited := _waited(outage)) is not None
    ]
    usual = median(others) if others else delay_ms
    if not lost or usual is None:
        return None
    return SpareSlots(len(lost), median(lost), usual, max(median(lost) - usual, 0), slots)


def _waited(outage: Outage) -> float | None:
    return None if outage.part_ms["wait"] is None else _sum(outage, ("wait", "failed_attempts"))


def _sum(outage: Outage, names: Iterable[str]) -> float:
    return sum(outage.part_ms[name] or 0 for name in names)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
