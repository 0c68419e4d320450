"""Computes how long jobs were down in each minute. Samples of a job's state would miss a restart of
seconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from webapp.fleet.models import JobAnnotation, JobStart
from webapp.lib.instants import epoch_ms, instant_of

LONGEST_START = timedelta(hours=1)
"""Starts that took longer are not found."""
_MINUTE_MS = 60_000
Spans = dict[tuple[str, str], list[tuple[int, int]]]
"""(cluster, job id) → times without all tasks, as (begin, end) in epoch ms."""


def down_seconds(since_min: int) -> Mapping[tuple[str, str], Mapping[int, int]]:
    """(cluster, job id) → epoch minute from ``since_min`` on → seconds in which not all tasks ran,
    1 to 60; other minutes are left out.
    """
    since = instant_of(since_min * _MINUTE_MS)
    spans: Spans = defaultdict(list)
    starts = JobStart.objects.filter(at__gt=since - LONGEST_START, running_at__gt=since)
    values = starts.values_list("cluster", "job_id", "begun_at", "running_at")
    for cluster, job_id, began_at, running_at in values.iterator():
        if began_at:
            spans[cluster, job_id].append((epoch_ms(began_at), epoch_ms(running_at)))
    # If no task reported when it ran, the annotation of a restart has a lower bound.
    restarts = JobAnnotation.objects.filter(kind="restart", at__gt=since - LONGEST_START)
    for cluster, job_id, at, detail in restarts.values_list("cluster", "job_id", "at", "detail"):
        detail = detail or {}
        down_ms = detail.get("downtime_ms") or detail.get("downtime_at_least_ms")
        if down_ms:
            began_at = datetime.fromisoformat(detail["began_at"]) if "began_at" in detail else at
            began_ms = epoch_ms(began_at)
            spans[cluster, job_id].append((began_ms, began_ms + int(down_ms)))
    return {key: by_minute(of_job, since_min) for key, of_job in spans.items()}


def by_minute(spans: Iterable[tuple[int, int]], since_min: int) -> dict[int, int]:
    """Epoch minute → seconds, rounded up, that the ``spans`` cover. They may overlap."""
    down_ms: defaultdict[int, int] = defaultdict(int)
    counted_to = since_min * _MINUTE_MS
    for begin, end in sorted(spans):
        at = max(begin, counted_to)
        while at < end:
            minute = at // _MINUTE_MS
            until = min(end, (minute + 1) * _MINUTE_MS)
            down_ms[minute] += until - at
            at = until
        counted_to = max(counted_to, end)
    return {minute: -(-ms // 1000) for minute, ms in down_ms.items()}
