"""How many of a job's subtasks run on which host, and what happened there: ``job_host`` and
``host_event``. To add a kind of event: ``HOST_EVENT_KINDS`` (``spark_jobs/serving.py``); in
``webapp/hosts/``, its words and count (``lookup.py``) and its mark (``charts.py``).
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.fold.rows import Row, RowList, Rows, grouped

NAME_CHARS = 300
ONE_MOVE_MS = 10_000
"""A restart moves all vertices at once; REST is asked for one after the other."""
FEW_HOSTS = 3
"""A checkpoint that expired on more hosts, and on more than half of all, is no event of a host."""


def job_hosts(placements: Rows, ended_ms: int | None = None) -> list[Row]:
    """A row for each host; if the job left the host or ended, with its last subtasks there.
    ``placements``: the hosts of a vertex from ``ts`` on.
    """
    stays_by_host: dict[str, list[_Stay]] = {}
    newest = None
    with_hosts = (row for row in placements if row["host"])
    for vertex_placements in grouped(with_hosts, "vertex_id").values():
        in_order = sorted(vertex_placements, key=lambda row: row["ts"])
        newest = max(newest or 0, in_order[-1]["ts"])
        ends = [*(row["ts"] for row in in_order[1:]), ended_ms]
        stays: dict[str, _Stay] = {}
        for row, left_at in zip(in_order, ends, strict=True):
            hosts = Counter(name[:NAME_CHARS] for name in row["host"] if name)
            for host, subtasks in hosts.items():
                since = stays[host].since if host in stays else row["ts"]
                stays[host] = _Stay(since, left_at, subtasks)
        for host, stay in stays.items():
            stays_by_host.setdefault(host, []).append(stay)
    as_of = max(filter(None, (newest, ended_ms)), default=None)
    return [_row(host, stays, as_of) for host, stays in sorted(stays_by_host.items())]


def digest(rows: Rows) -> int:
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


def host_events(facts: Rows, exceptions: Rows, placements: Rows) -> list[Row]:
    events = [*_events_of_facts(list(facts), placements), *_failures(exceptions)]
    by_key = {
        (row["host"], row["at"], row["kind"], row["subject"]): row
        for row in events
        if row["host"] and row["at"] is not None
    }
    return [by_key[key] for key in sorted(by_key)]


class _Stay(NamedTuple):
    """Subtasks of one vertex on a host; ``left_at`` is None while they run."""

    since: int
    left_at: int | None
    subtasks: int


def _row(host: str, stays: Sequence[_Stay], as_of: int | None) -> Row:
    present = [stay for stay in stays if stay.left_at is None]
    left_at = None if present else max(stay.left_at or 0 for stay in stays)
    last = present or [
        stay for stay in stays if (left_at or 0) - (stay.left_at or 0) <= ONE_MOVE_MS
    ]
    return {
        "host": host,
        "subtasks": sum(stay.subtasks for stay in last),
        "slots": max(stay.subtasks for stay in last),
        "vertices": len(last),
        "first_seen_at": min(stay.since for stay in stays),
        "left_at": left_at,
        "as_of": as_of,
    }


def _events_of_facts(facts: RowList, placements: Rows) -> Iterator[Row]:
    for fact in facts:
        yield from _declines(fact)
    expired = [fact for fact in facts if fact["outcome"] == "expired" and fact["not_acknowledged"]]
    if expired:
        hosts = {name for row in placements for name in row["host"] or () if name}
        for fact in expired:
            yield from _expirations(fact, len(hosts))


def _declines(fact: Row) -> Iterator[Row]:
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


def _expirations(fact: Row, host_count: int) -> Iterator[Row]:
    names_by_host: dict[str, list[str]] = {}
    for entry in fact["not_acknowledged"]:
        for host in entry.get("hosts") or ():
            names_by_host.setdefault(host, []).append(
                entry.get("vertex_name") or entry.get("vertex_id") or ""
            )
    if len(names_by_host) > max(FEW_HOSTS, host_count // 2):
        return
    for host, names in names_by_host.items():
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


def _failures(exceptions: Rows) -> Iterator[Row]:
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
    host: str | None, at: int | None, kind: str, subject: str, as_of: int, **columns: Any
) -> Row:
    names = ("taskmanager_id", "vertex_name", "subtask", "checkpoint_id", "trigger_time", "detail")
    return {
        "host": (host or "")[:NAME_CHARS],
        "at": at,
        "kind": kind,
        "subject": subject[:NAME_CHARS],
        "as_of": as_of,
        **dict.fromkeys(names),
        **{
            name: value[:NAME_CHARS] if isinstance(value, str) else value
            for name, value in columns.items()
        },
    }


def _ms(text: Any) -> int | None:
    return (
        round(datetime.fromisoformat(text).timestamp() * 1000)
        if isinstance(text, str) and text
        else None
    )
