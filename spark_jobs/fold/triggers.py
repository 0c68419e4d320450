"""Assigns log lines to checkpoints. Ids repeat if a job with a fixed job id starts again; trigger
times do not. A line without a trigger time belongs to the last earlier trigger of its id.
"""

from collections.abc import Callable, Iterable
from operator import itemgetter

from spark_jobs.fold.rows import Row, Rows, first_known, least

CLOCK_SLACK_MS = 10_000
"""The clock of another host may be this much behind that of the trigger."""

TRIGGERED = "checkpoint_triggered"
REPORTED = "checkpoint_reported"
"""Of Flink's span, which has the trigger, or of its event. It is dated at the end."""

TRIGGERS_KEPT = 200
"""Earlier triggers are looked up in the lake."""

CheckpointKey = tuple[int, int]
"""Checkpoint id and trigger time."""
Triggers = dict[CheckpointKey, int | None]
"""Trigger → time of its log line (off if the declared time zone is wrong) or None."""


key_of: Callable[[Row], CheckpointKey] = itemgetter("checkpoint_id", "trigger_time")


def known_triggers(checkpoints: Rows, vertex_checkpoints: Rows, events: Rows) -> Triggers:
    known: Triggers = {}
    for row in (*checkpoints, *vertex_checkpoints):
        if row["checkpoint_id"] is not None and row["trigger_time"] is not None:
            known.setdefault(key_of(row), None)
    for row in events:
        if row["checkpoint_id"] is None or row["trigger_time"] is None:
            continue
        if row["kind"] == REPORTED:
            known.setdefault(key_of(row), None)
        elif row["kind"] == TRIGGERED:
            logged_at = known.get(key_of(row))
            known[key_of(row)] = row["ts"] if logged_at is None else min(logged_at, row["ts"])
    return known


def as_rows(known: Triggers) -> list[dict[str, int | None]]:
    newest = sorted(known, key=lambda key: (key[1], key[0]))[-TRIGGERS_KEPT:]
    return [
        {"checkpoint_id": key[0], "trigger_time": key[1], "logged_at": known[key]} for key in newest
    ]


def triggers_of_rows(rows: Rows) -> Triggers:
    return {key_of(row): row["logged_at"] for row in rows}


def merged(left: Triggers, other: Triggers) -> Triggers:
    return {**left, **{key: least(left.get(key), logged_at) for key, logged_at in other.items()}}


def anchored(events: Rows, known: Triggers) -> dict[CheckpointKey, list[Row]]:
    """Lines by checkpoint. An unknown trigger time is estimated: the earliest time of a line minus
    the duration in it.
    """
    events = [event for event in events if (event["checkpoint_id"] or 0) > 0]
    by_id: dict[int, list[tuple[int, int]]] = {event["checkpoint_id"]: [] for event in events}
    for (checkpoint_id, trigger_time), logged_at in known.items():
        if checkpoint_id in by_id:
            by_id[checkpoint_id].append((first_known(logged_at, trigger_time), trigger_time))
    for triggers in by_id.values():
        triggers.sort()
    assigned: dict[CheckpointKey, list[Row]] = {}
    unassigned: dict[int, list[Row]] = {}
    for event in events:
        trigger_time = first_known(
            event["trigger_time"], _last_before(by_id.get(event["checkpoint_id"], ()), event["ts"])
        )
        if trigger_time is None:
            unassigned.setdefault(event["checkpoint_id"], []).append(event)
        else:
            assigned.setdefault((event["checkpoint_id"], trigger_time), []).append(event)
    for checkpoint_id, lines in unassigned.items():
        estimate = min(event["ts"] - (event["duration_ms"] or 0) for event in lines)
        assigned.setdefault((checkpoint_id, estimate), []).extend(lines)
    return assigned


def _last_before(triggers: Iterable[tuple[int, int]], ts: int) -> int | None:
    earlier = [
        trigger_time for position, trigger_time in triggers if position <= ts + CLOCK_SLACK_MS
    ]
    return earlier[-1] if earlier else None
