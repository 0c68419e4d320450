"""Log lines with a known beginning and an unknown rest, by Flink release: messages that a release
reworded.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.flink_logs.patterns import UNREAD
from webapp.fleet.models import Cluster, LogEvent

WITHIN = timedelta(days=7)
MOST_LINES = 5_000
MOST_SHOWN = 50
CLUSTERS_NAMED = 5


@dataclass(frozen=True, slots=True)
class UnreadLines:
    """``flink_version`` is that of the clusters now, ``None`` if it is unknown; ``example`` is the
    newest line, without secrets.
    """

    flink_version: str | None
    begins_as: str
    lines: int
    clusters: tuple[str, ...]
    more_clusters: int
    first_at: datetime
    last_at: datetime
    example: str


@dataclass(frozen=True, slots=True)
class UnreadLinesFound:
    """``groups``: most lines first. ``counted``: newest lines examined; ``cut``: there are more, or
    more groups.
    """

    since: datetime
    counted: int
    cut: bool
    groups: tuple[UnreadLines, ...]


def unread_lines(now: datetime, cluster: str | None = None) -> UnreadLinesFound:
    since = now - WITHIN
    events = LogEvent.objects.filter(
        kind=UNREAD, ts__gte=since, **({"cluster": cluster} if cluster else {})
    )
    rows = list(
        events.order_by("-ts").values_list("cluster", "reason", "ts", "message")[: MOST_LINES + 1]
    )
    cut, rows = len(rows) > MOST_LINES, rows[:MOST_LINES]
    versions = dict(
        Cluster.objects.filter(name__in={row[0] for row in rows}).values_list(
            "name", "flink_version"
        )
    )
    held: dict[tuple[str | None, str], list[tuple[str, datetime, str]]] = {}
    for name, begins_as, ts, message in rows:
        held.setdefault((versions.get(name), begins_as or ""), []).append((name, ts, message or ""))
    groups = sorted(
        (_group(*key, lines) for key, lines in held.items()), key=lambda group: -group.lines
    )
    return UnreadLinesFound(
        since, len(rows), cut or len(groups) > MOST_SHOWN, tuple(groups[:MOST_SHOWN])
    )


def _group(
    version: str | None, begins_as: str, lines: list[tuple[str, datetime, str]]
) -> UnreadLines:
    names = [name for name, _ in Counter(name for name, _, _ in lines).most_common()]
    times = [ts for _, ts, _ in lines]
    named, more = tuple(names[:CLUSTERS_NAMED]), max(len(names) - CLUSTERS_NAMED, 0)
    return UnreadLines(
        version, begins_as, len(lines), named, more, min(times), max(times), lines[0][2]
    )
