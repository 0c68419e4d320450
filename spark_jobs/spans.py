"""Spans of time that contain the needed rows, so that only these parts of a table are read."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingest.flink_logs.event_parser import LAST_EPOCH_MS
from spark_jobs.diagnosis.window_contents import WINDOW_MS

Span = tuple[datetime, datetime]
"""First and last instant, both included."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LINES_AFTER_TRIGGER = timedelta(days=1)
"""Lines about a checkpoint are searched this long after its trigger."""
OTHER_SIDE_WITHIN = timedelta(days=1)
"""The snapshot that a checkpoint is compared with was read this long before it, at most."""
WINDOW = timedelta(milliseconds=WINDOW_MS)
CLOSE_TOGETHER = timedelta(minutes=10)


class JobLookup(NamedTuple):
    """What a job needs from the lake, as :class:`spark_jobs.fold.checkpoints.Lookup` has it. No
    checkpoints if ``to_ms`` is earlier than ``from_ms``.
    """

    cluster: str
    job_id: str
    from_ms: int
    to_ms: int
    keys: Sequence[str] = ()
    minutes: Sequence[int] = ()


def merged(spans: Iterable[Span]) -> list[Span]:
    whole: list[Span] = []
    for start, end in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def instant(epoch_s: float) -> datetime:
    """Limited to the years 1970 to 2200."""
    return datetime.fromtimestamp(min(max(epoch_s, 0), LAST_EPOCH_MS // 1000), UTC)


def floor(at: datetime, length: timedelta) -> datetime:
    return at - (at - EPOCH) % length


def windows_between(
    times: Sequence[tuple[datetime | None, datetime | None]], length: timedelta
) -> list[Span] | None:
    """Between the first and last instants of a few files; None if the spans are too long."""
    known = [(first, last) for first, last in times if first is not None and last is not None]
    if len(known) < len(times) or any(last - first > CLOSE_TOGETHER for first, last in known):
        return None
    return merged((floor(first, length), floor(last, length) + length) for first, last in known)


def lookup_spans(lookups: Iterable[JobLookup]) -> tuple[list[Span], list[Span]]:
    triggers = merged(
        (instant(lookup.from_ms // 1000), instant(lookup.to_ms // 1000 + 1))
        for lookup in lookups
        if lookup.from_ms <= lookup.to_ms
    )
    return triggers, merged((start, end + LINES_AFTER_TRIGGER) for start, end in triggers)


def minute_spans(lookups: Iterable[JobLookup]) -> list[Span]:
    return merged(
        (start, start + WINDOW)
        for start in {instant(minute // 1000) for lookup in lookups for minute in lookup.minutes}
    )
