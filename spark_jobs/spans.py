"""Spans of time, so that only parts with needed rows are read."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ingest.flink_logs.event_parser import LAST_EPOCH_MS
from spark_jobs.diagnosis.window_contents import WINDOW_MS

Span = tuple[datetime, datetime]
"""First and last instant, both included."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LINES_AFTER_TRIGGER = timedelta(days=1)
"""Log lines about a checkpoint are looked up until this long after its trigger."""
COMPARED_WITHIN = timedelta(days=1)
"""A checkpoint is compared with a snapshot that was read at most this long before it."""
WINDOW = timedelta(milliseconds=WINDOW_MS)
MOST_FILE_SPAN = timedelta(minutes=10)


class JobLookup(NamedTuple):
    """A ``Lookup`` with its job. If ``to_ms`` is before ``from_ms``, it has no checkpoints."""

    cluster: str
    job_id: str
    from_ms: int
    to_ms: int
    keys: Sequence[str] = ()
    minutes: Sequence[int] = ()


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def instant(epoch_s: float) -> datetime:
    """Limited to the years 1970 to 2200."""
    return datetime.fromtimestamp(min(max(epoch_s, 0), LAST_EPOCH_MS // 1000), UTC)


def floor(at: datetime, length: timedelta) -> datetime:
    return at - (at - EPOCH) % length


def windows_between(
    times: Sequence[tuple[datetime | None, datetime | None]],
) -> list[Span] | None:
    """The spans of whole windows around the first and last instants of files; None if these are
    unknown or too far apart.
    """
    spans = [(first, last) for first, last in times if first is not None and last is not None]
    if len(spans) < len(times) or any(last - first > MOST_FILE_SPAN for first, last in spans):
        return None
    return merge_spans(
        (floor(first, WINDOW), floor(last, WINDOW) + WINDOW) for first, last in spans
    )


def lookup_spans(lookups: Iterable[JobLookup]) -> tuple[list[Span], list[Span]]:
    """Spans of triggers, and of log lines about them."""
    triggers = merge_spans(
        (instant(lookup.from_ms // 1000), instant(lookup.to_ms // 1000 + 1))
        for lookup in lookups
        if lookup.from_ms <= lookup.to_ms
    )
    return triggers, merge_spans((start, end + LINES_AFTER_TRIGGER) for start, end in triggers)


def minute_spans(lookups: Iterable[JobLookup]) -> list[Span]:
    return merge_spans(
        (start, start + WINDOW)
        for start in {instant(minute // 1000) for lookup in lookups for minute in lookup.minutes}
    )
