"""How many of a job's subtasks run on which host, and what happened there: rows of ``job_host`` and
``host_event``. A new kind is one of ``HOST_EVENT_KINDS`` (``spark_jobs/serving.py``), with its word
in ``webapp/hosts/concentration.py``, its sentence in ``timeline.py`` and its count in ``lookup.py``
there.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.fold.rows import Row, grouped

NAME_CHARS = 300
ONE_MOVE_MS = 10_000
"""A restart moves all vertices, but their places are requested one after the other."""
FEW_HOSTS = 3


def job_hosts(placements: Iterable[Row], ended_ms: int | None = None) -> list[dict[str, Any]]:
    """``placements``: when each was first seen. If the job left the host or ended, the row has the
    last subtasks there.
    """
    here: dict[str, list[_Stay]] = {}
    newest = None
    for of_vertex in grouped((row for row in placements if row["host"]), "vertex_id").values():
        in_order = sorted(of_vertex, key=lambda row: row["ts"])
        newest = max(newest or 0, in_order[-1]["ts"])
        stays: dict[str, _Stay] = {}
        for place, row in enumerate(in_order):
            left_at = in_order[place + 1]["ts"] if place + 1 < len(in_order) else ended_ms
            for host, subtasks in Counter(
                name[:NAME_CHARS] for name in row["host"] if name
            ).items():
                since = stays[host].since if host in stays else row["ts"]
                stays[host] = _Stay(since, left_at, subtasks)
        for host, stay in stays.items():
            here.setdefault(host, []).append(stay)
    as_of = max(filter(None, (newest, ended_ms)), default=None)
    return [_row(host, stays, as_of) for host, stays in sorted(here.items())]


def digest(rows: Iterable[Row]) -> int:
    return zlib.crc32(
        repr(
            [
                sorted((name, value) for name, value in row.items() if name != "as_of")
                for row in rows
            ]
        ).encode()
    )


def ended_at(states: Sequence[tuple[int, str]]) -> int | None:
    return states[-1][0] if states and states[-1][1] in TERMINAL_STATES else None


def host_events(
    facts: Iterable[Row], exceptions: Iterable[Row], placements: Iterable[Row]
) -> list[dict[str, Any]]:
    """Each once; events without a host are left out."""
    events = [*_events_of_facts(list(facts), placements), *_failures(exceptions)]
    once = {
        (row["host"], row["at"], row["kind"], row["subject"]): row
        for row in events
        if row["host"] and row["at"] is not None
    }
    return [once[key] for key in sorted(once)]


class _Stay(NamedTuple):
    """Of one vertex on a host; ``left_at``: None if it runs there."""

    since: int
    left_at: int | None
    subtasks: int


def _row(host: str, stays: Sequence[_Stay], as_of: int | None) -> dict[str, Any]:
    last = [stay for stay in stays if stay.left_at is None]
    left_at = None if last else max(stay.left_at or 0 for stay in stays)
    last = last or [stay for stay in stays if (left_at or 0) - (stay.left_at or 0) <= ONE_MOVE_MS]
    return {
        "host": host,
        "subtasks": sum(stay.subtasks for stay in last),
        "slots": max(stay.subtasks for stay in last),
        "vertices": len(last),
        "first_seen_at": min(stay.since for stay in stays),
        "left_at": left_at,
        "as_of": as_of,
    }


def _events_of_facts(facts: Sequence[Row], placements: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for fact in facts:
        yield from _declines(fact)
    expired = [fact for fact in facts if fact["outcome"] == "expired" and fact["not_acknowledged"]]
    if expired:
        known = {name for row in placements for name in row["host"] or () if name}
        for fact in expired:
            yield from _silent(fact, len(known))


def _declines(fact: Row) -> Iterator[dict[str, Any]]:
    for decline in fact["declines"] or ():
        vertex = decline.get("vertex_name") or decline.get("vertex_id")
        yield _event(
            decline.get("host"),
            _ms(decline.get("at")) or fact["end_time"],
            "decline",
            f"checkpoint {fact['checkpoint_id']}, {vertex or ''}/{decline.get('subtask')}",
            fact["as_of"],
            taskmanager_id=decline.get("container"),
            vertex_name=vertex,
            subtask=decline.get("subtask"),
            checkpoint_id=fact["checkpoint_id"],
            trigger_time=fact["trigger_time"],
            detail=decline.get("reason"),
        )


def _silent(fact: Row, hosts: int) -> Iterator[dict[str, Any]]:
    vertices: dict[str, list[str]] = {}
    for part in fact["not_acknowledged"]:
        for host in part.get("hosts") or ():
            vertices.setdefault(host, []).append(
                part.get("vertex_name") or part.get("vertex_id") or ""
            )
    if len(vertices) > max(FEW_HOSTS, hosts // 2):
        return
    for host, names in vertices.items():
        yield _event(
            host,
            fact["end_time"],
            "expired",
            message("checkpoint {fact:name}", fact=str(fact["checkpoint_id"])),
            fact["as_of"],
            vertex_name=", ".join(names),
            checkpoint_id=fact["checkpoint_id"],
            trigger_time=fact["trigger_time"],
        )


def _failures(exceptions: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for exception in exceptions:
        if exception["is_root"] is not False:
            yield _event(
                exception["host"],
                exception["ts"],
                "failure",
                exception["task_key"],
                exception["as_of"],
                taskmanager_id=exception["taskmanager_id"],
                detail=exception["exception_name"],
            )


def _event(
    host: str | None, at: int | None, kind: str, subject: str, as_of: int, **more: Any
) -> dict[str, Any]:
    cut = {
        name: value[:NAME_CHARS] if isinstance(value, str) else value
        for name, value in more.items()
    }
    empty = dict.fromkeys(
        ("taskmanager_id", "vertex_name", "subtask", "checkpoint_id", "trigger_time", "detail")
    )
    return (
        {
            "host": (host or "")[:NAME_CHARS],
            "at": at,
            "kind": kind,
            "subject": subject[:NAME_CHARS],
            "as_of": as_of,
        }
        | empty
        | cut
    )


def _ms(text: Any) -> int | None:
    return (
        round(datetime.fromisoformat(text).timestamp() * 1000)
        if isinstance(text, str) and text
        else None
    )
