"""Groups the occurrences of one rule and subject into episodes, in any order and with repetitions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Span:
    """One occurrence, or without ``occurrence_id`` the older part of a finding."""

    first: datetime
    last: datetime
    occurrence_id: int | None = None
    window_start: datetime | None = None


@dataclass(frozen=True, slots=True)
class FindingEpisode:
    """``newest``: the span whose texts the finding gets."""

    first_seen: datetime
    last_seen: datetime
    newest: Span


def episodes(spans: Iterable[Span], hold: timedelta) -> list[FindingEpisode]:
    """Spans no further apart than ``hold`` are one episode; episodes in order of time."""
    runs: list[list[Span]] = []
    until: datetime | None = None
    for span in sorted(spans, key=lambda span: (span.first, span.last)):
        if until is None or span.first - until > hold:
            runs.append([])
            until = span.last
        runs[-1].append(span)
        until = max(until, span.last)
    return [
        FindingEpisode(
            min(span.first for span in spans), max(span.last for span in spans), _newest(spans)
        )
        for spans in runs
    ]


def _newest(spans: Sequence[Span]) -> Span:
    """If several spans end last, the one of the earliest window: rules that look back to an event
    have most data right after it.
    """
    last = max(span.last for span in spans)
    at_end = [span for span in spans if span.last == last]
    occurrences = [
        span for span in at_end if span.occurrence_id is not None and span.window_start is not None
    ]
    if not occurrences:
        return at_end[0]
    return min(occurrences, key=lambda span: (span.window_start or last, span.occurrence_id or 0))


def closed_at(
    last_seen: datetime, hold: timedelta, judged_to: datetime | None, ended_at: datetime | None
) -> datetime | None:
    """When the hold time passed without an occurrence or the job ended; None while neither did."""
    hold_ends = last_seen + hold
    if ended_at is not None:
        return max(last_seen, min(hold_ends, ended_at))
    return hold_ends if judged_to is not None and judged_to > hold_ends else None
