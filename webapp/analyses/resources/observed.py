"""Whether TaskManagers were seen for long enough to say that they need less memory: pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from ingest.messages import message
from webapp.hosts.memory_budget import HOUR, cpu_used
from webapp.hosts.taskmanager_samples import DAY, Samples, has_slots

LEAST_HOURS = 23
"""Of 24: one may be lost with a restart of Weir."""
PEAK = 1.5
"""Times the usual hour: a day without such an hour may be one without its load."""
GONE = timedelta(minutes=5)
"""Without a sample for so long before the newest one, a TaskManager is not there any more."""
ONE_LISTING = timedelta(seconds=2)
"""TaskManagers that are listed together are asked for one after the other."""
_CONFIGURED = (
    "process_memory_bytes",
    "managed_memory_bytes",
    "network_memory_bytes",
    "metaspace_bytes",
    "task_heap_bytes",
    "task_off_heap_bytes",
)


@dataclass(frozen=True)
class Observed:
    """``hours``: of the last day, with samples. ``peak_ratio``: CPU time of the busiest hour over
    that of the usual one, None where unknown. ``is_cut``: a day of its cluster is more than is
    read.
    """

    hours: int
    peak_ratio: float | None
    is_cut: bool = False

    @property
    def shows_peak(self) -> bool:
        return self.hours >= LEAST_HOURS and self.peak_ratio is not None and self.peak_ratio >= PEAK

    @property
    def waits_for(self) -> str:
        if self.hours < LEAST_HOURS and self.is_cut:
            return message(
                "What could be saved shows after a day with a peak: its cluster has more samples "
                "of TaskManagers than are read, {hours:count} h of the last day.",
                hours=self.hours,
            )
        if self.hours < LEAST_HOURS:
            return message(
                "What could be saved shows after a day with a peak: {hours:count} of its hours "
                "were sampled so far.",
                hours=self.hours,
            )
        if self.peak_ratio is None:
            return message(
                "What could be saved shows after a day with a peak: whether this day has one is "
                "not known, since its TaskManagers report no CPU time."
            )
        return message(
            "What could be saved shows after a day with a peak: the busiest hour of the last day "
            "took {ratio:decimal1} times the CPU time of the usual one, and {peak:number} times "
            "make a peak.",
            ratio=self.peak_ratio,
            peak=PEAK,
        )


def had_slots(row: Mapping[str, Any], job_id: str) -> bool:
    """Before Flink 1.13 no sample says whose its slots are: any job may have them."""
    return row["allocated_slots"] is None or has_slots(row, job_id)


def there(
    samples: Sequence[Samples], job_id: str, newest: datetime, ended: Collection[tuple[str, str]]
) -> list[str]:
    """Ids of the TaskManagers that the job has slots on: by their newest sample, up to ``newest``,
    when it had any last. ``ended``: cluster and id of those that do not live any more.
    """
    last = [[row for row in own if row["ts"] <= newest + ONE_LISTING][-1:] for own in samples]
    return [
        row["taskmanager_id"]
        for rows in last
        for row in rows
        if had_slots(row, job_id)
        and newest - row["ts"] <= GONE
        and (row["cluster"], row["taskmanager_id"]) not in ended
    ]


def of_now(samples: Sequence[Samples], present: Collection[str]) -> list[Samples]:
    """Without TaskManagers that are not ``present`` and had another configuration than those that
    are.
    """
    configured = {_configured(own[-1]) for own in samples if own[-1]["taskmanager_id"] in present}
    return [own for own in samples if _configured(own[-1]) in configured]


def observed(samples: Sequence[Samples], at: datetime, since: datetime | None = None) -> Observed:
    """``since``: from when on samples were read, where that is less than a day."""
    hours: dict[int, list[Samples]] = {}
    for own in samples:
        of_hour: dict[int, list[Mapping[str, Any]]] = {}
        for row in own:
            of_hour.setdefault(int((at - row["ts"]) / HOUR), []).append(row)
        for hour, rows in of_hour.items():
            if 0 <= hour < DAY / HOUR:
                hours.setdefault(hour, []).append(rows)
    cores = [
        sum(known)
        for rows in hours.values()
        if len(known := [used for own in rows if (used := cpu_used(own)) is not None]) == len(rows)
    ]
    usual = median(cores) if cores else 0.0
    is_cut = since is not None and at - since < DAY
    return Observed(len(hours), max(cores) / usual if usual else None, is_cut)


def _configured(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _CONFIGURED)
