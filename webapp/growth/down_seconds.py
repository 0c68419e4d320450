"""For how long jobs were down in each minute, by their starts and restarts: a restart of seconds is
seen whole, which no sample of a state would see.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from webapp.fleet.models import JobAnnotation, JobStart
from webapp.lib.instants import epoch_ms, instant_of

LONGEST_START = timedelta(hours=1)
"""A start whose last tasks took longer to run is not looked for."""
_MINUTE_MS = 60_000
Spans = dict[tuple[str, str], list[tuple[int, int]]]


def down_seconds(since_min: int) -> Mapping[tuple[str, str], Mapping[int, int]]:
    """(cluster, job id) → epoch minute from ``since_min`` on → seconds from 1 to 60 in which not
    all tasks ran; minutes without any are left out. Two queries.
    """
    since = instant_of(since_min * _MINUTE_MS)
    spans: Spans = defaultdict(list)
    starts = JobStart.objects.filter(at__gt=since - LONGEST_START, running_at__gt=since)
    values = starts.values_list("cluster", "job_id", "begun_at", "running_at")
    for cluster, job_id, began, running in values.iterator():
        if began:
            spans[cluster, job_id].append((epoch_ms(began), epoch_ms(running)))
    # If no task reported when it ran, the annotation of a restart has how long it took at least.
    marks = JobAnnotation.objects.filter(kind="restart", at__gt=since - LONGEST_START)
    for cluster, job_id, at, noted in marks.values_list("cluster", "job_id", "at", "detail"):
        detail = noted or {}
        lasted_ms = detail.get("downtime_ms") or detail.get("downtime_at_least_ms")
        if lasted_ms:
            begun = datetime.fromisoformat(detail["began_at"]) if "began_at" in detail else at
            spans[cluster, job_id].append((epoch_ms(begun), epoch_ms(begun) + int(lasted_ms)))
    return {key: by_minute(of_job, since_min) for key, of_job in spans.items()}


def by_minute(spans: Iterable[tuple[int, int]], since_min: int) -> dict[int, int]:
    """``spans`` in epoch ms, which may overlap → epoch minute → seconds, begun ones whole."""
    down_ms: defaultdict[int, int] = defaultdict(int)
    reached = since_min * _MINUTE_MS
    for begin, end in sorted(spans):
        at = max(begin, reached)
        while at < end:
            minute = at // _MINUTE_MS
            until = min(end, (minute + 1) * _MINUTE_MS)
            down_ms[minute] += until - at
            at = until
        reached = max(reached, end)
    return {minute: -(-ms // 1000) for minute, ms in down_ms.items()}
