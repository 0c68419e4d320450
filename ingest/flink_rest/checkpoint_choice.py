"""Which checkpoints of ``/jobs/:id/checkpoints`` are news, and which deserve a closer look."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.flink_rest.cursor import DETAILED, DISCARDED, SEEN, JobCursor
from ingest.flink_rest.limits import RequestLimits
from ingest.flink_rest.payloads.fields import LARGEST_WHOLE, LAST_INSTANT_MS

LONG_RUNNING_MS = 10_000
"""An unfinished checkpoint older than this is looked into: who has not acknowledged yet?"""

MIN_SIBLINGS = 5
SLOW_AGAINST_MEDIAN = 2
NEVER_SLOW_BELOW_MS = 5_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What of a checkpoint object decides whether it is asked about."""

    checkpoint_id: int
    trigger_ms: int
    status: str
    is_savepoint: bool
    end_to_end_ms: int
    subtasks: int
    discarded: bool

    @property
    def key(self) -> tuple[int, int]:
        """Identity within a job: ids repeat where a fixed job id restarts."""
        return self.checkpoint_id, self.trigger_ms

    @property
    def final(self) -> bool:
        """Its outcome will not change; it may still be discarded."""
        return self.status in ("COMPLETED", "FAILED")

    @property
    def flags(self) -> int:
        """What a cursor notes once this status of it is in the lake."""
        return SEEN | (DISCARDED if self.discarded else 0)


def entries(body: Any) -> list[Entry]:
    """Readable checkpoint objects of the history and of ``latest``, newest first, each once; bad ones are the parser's to name."""
    found: dict[tuple[int, int], Entry] = {}
    for raw in _objects(body):
        entry = _entry(raw)
        if entry:
            found.setdefault(entry.key, entry)
    return sorted(found.values(), key=lambda entry: (entry.trigger_ms, entry.checkpoint_id), reverse=True)


def news_only(body: Any, cursor: JobCursor) -> Any:
    """The payload without checkpoints whose present state is in the lake; counters and the last restore stay."""
    if not isinstance(body, dict):
        return body
    history, latest = body.get("history"), body.get("latest")
    news = dict(body)
    news.pop("summary", None)
    if isinstance(history, list):
        news["history"] = [raw for raw in history if not _is_known(raw, cursor)]
    if isinstance(latest, dict):
        news["latest"] = {kind: None if kind != "restored" and _is_known(raw, cursor) else raw for kind, raw in latest.items()}
    return news


def remember(cursor: JobCursor, seen: list[Entry], detailed: set[tuple[int, int]]) -> None:
    """Note final ones of this answer; those that left Flink's memory are forgotten."""
    cursor.checkpoints = {
        entry.key: entry.flags | (cursor.checkpoints.get(entry.key, 0) & DETAILED) | (DETAILED if entry.key in detailed else 0)
        for entry in seen
        if entry.final
    }


def wants_details(entry: Entry, siblings: list[Entry], cursor: JobCursor, now_ms: int, limits: RequestLimits, lean: bool) -> bool:
    """Final ones once, in large fleets only those whose subtasks are read too; unfinished ones while they take long."""
    if entry.final:
        known = cursor.checkpoints.get(entry.key, 0) & DETAILED
        return not known and (not lean or wants_subtasks(entry, siblings, limits, lean))
    return now_ms - entry.trigger_ms >= LONG_RUNNING_MS


def wants_subtasks(entry: Entry, siblings: list[Entry], limits: RequestLimits, lean: bool) -> bool:
    """Failed, slow, unfinished and sampled ones and savepoints; of small jobs all, unless the fleet is large."""
    if entry.status != "COMPLETED" or entry.is_savepoint or is_slow(entry, siblings, limits):
        return True
    if entry.subtasks <= limits.small_job_subtasks and not lean:
        return True
    return entry.checkpoint_id % limits.sample_every == 0


def is_slow(entry: Entry, siblings: list[Entry], limits: RequestLimits) -> bool:
    """By itself, or at least twice the median of its siblings and not below five seconds."""
    if entry.end_to_end_ms >= limits.slow_ms:
        return True
    usual = [other.end_to_end_ms for other in siblings if other.status == "COMPLETED" and not other.is_savepoint]
    if len(usual) < MIN_SIBLINGS or entry.end_to_end_ms < NEVER_SLOW_BELOW_MS:
        return False
    return entry.end_to_end_ms >= SLOW_AGAINST_MEDIAN * statistics.median(usual)


def by_urgency(chosen: list[Entry]) -> list[Entry]:
    """Failed first, then unfinished, then newest: what a small budget should buy."""
    return sorted(chosen, key=lambda entry: (entry.status != "FAILED", entry.final, -entry.trigger_ms))


def _objects(body: Any) -> Iterator[Any]:
    if not isinstance(body, dict):
        return
    history, latest = body.get("history"), body.get("latest")
    if isinstance(history, list):
        yield from history
    if isinstance(latest, dict):
        yield from (latest.get(kind) for kind in ("completed", "savepoint", "failed"))


def _entry(raw: Any) -> Entry | None:
    if not isinstance(raw, dict):
        return None
    checkpoint_id, trigger_ms, status = raw.get("id"), raw.get("trigger_timestamp"), raw.get("status")
    if not isinstance(checkpoint_id, int) or not isinstance(trigger_ms, int) or not isinstance(status, str):
        return None
    if not 0 <= checkpoint_id <= LARGEST_WHOLE or not 0 < trigger_ms < LAST_INSTANT_MS:
        return None
    return Entry(
        checkpoint_id=checkpoint_id,
        trigger_ms=trigger_ms,
        status=status.upper(),
        is_savepoint=raw.get("is_savepoint") is True,
        end_to_end_ms=_whole(raw.get("end_to_end_duration")),
        subtasks=_whole(raw.get("num_subtasks")),
        discarded=raw.get("discarded") is True,
    )


def _is_known(raw: Any, cursor: JobCursor) -> bool:
    entry = _entry(raw)
    return bool(entry and entry.final and (cursor.checkpoints.get(entry.key, 0) & ~DETAILED) == entry.flags)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
