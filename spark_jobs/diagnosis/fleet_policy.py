"""The least interval and pause that a shared storage allows, and settings below them."""

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Limits, Threshold

INTERVAL = "checkpoint.too_frequent.fleet_minimum_interval_s"
PAUSE = "checkpoint.too_frequent.fleet_minimum_pause_s"
_REASON = message("0 is none: what a shared storage can handle is for its operator to set.")
THRESHOLDS = tuple(Threshold(key, 0, "s", 0, 86_400, _REASON) for key in (INTERVAL, PAUSE))


@dataclass(frozen=True)
class Breach:
    """``set_ms``: the value in force, below ``least_ms``; None if unknown."""

    threshold: str
    option: str
    set_ms: int | None
    least_ms: int


def breaches(interval_ms: int, min_pause_ms: int | None, limits: Limits) -> Iterator[Breach]:
    """Flink's ``CheckpointCoordinator`` uses a minimum pause above the interval as interval."""
    least_interval_ms, least_pause_ms = (round(limits[key] * 1000) for key in (INTERVAL, PAUSE))
    if max(interval_ms, min_pause_ms or 0) < least_interval_ms:
        yield Breach(INTERVAL, "execution.checkpointing.interval", interval_ms, least_interval_ms)
    if least_pause_ms and (min_pause_ms is None or min_pause_ms < least_pause_ms):
        yield Breach(PAUSE, "execution.checkpointing.min-pause", min_pause_ms, least_pause_ms)
