"""``/taskmanagers/:id/thread-dump`` (since 1.11): a text per thread, as
``java.lang.management.ThreadInfo`` writes it. Before 1.17 stacks are cut to eight frames, later to
``cluster.thread-dump.stacktrace-max-depth``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.payloads.fields import Fields

MOST_THREADS = 5_000
MOST_FRAMES = 200
NAME_CHARS = 300
_HEAD_CHARS = 2_000
_HEAD = re.compile(
    r"(?: daemon)?(?: prio=\d{1,3})? Id=(?P<id>\d{1,19}) (?P<state>[A-Z_]{1,20})(?: on "
    r"(?P<lock>\S+))?"
    r'(?: owned by "(?P<owner>.*)" Id=(?P<owner_id>\d{1,19}))?'
)
_FRAME = re.compile(r"\s+at (?:[\w.@/-]+/)?(?P<method>[^\s(]+)\((?P<place>[^)]*)\)?")
_LINE = re.compile(r":(\d+)$")
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Thread:
    """``frames``: 'a.B.method:line', innermost first. ``is_cut``: the stack has more frames."""

    name: str
    number: int
    state: str
    lock: str = ""
    owner: str = ""
    owner_number: int | None = None
    frames: tuple[str, ...] = ()
    is_cut: bool = False


def thread_dump(body: Any) -> tuple[Thread, ...]:
    threads = list(Fields(body).objects("threadInfos"))
    if len(threads) > MOST_THREADS:
        raise Skipped(f"threadInfos: more than {MOST_THREADS:,} threads")
    return tuple(_threads(threads))


def _threads(entries: list[Fields]) -> Iterator[Thread]:
    for fields in entries:
        name = fields.required_text("threadName")
        text = fields.required_text("stringifiedThreadInfo")
        head, _, stack = text.partition("\n")
        match = _HEAD.match(head.removeprefix(f'"{name}"')[:_HEAD_CHARS])
        if match is None:
            continue
        lines = stack.split("\n", 10 * MOST_FRAMES)
        frames = [frame for line in lines if (frame := _frame(line[:_HEAD_CHARS]))]
        yield Thread(
            name[:NAME_CHARS],
            int(match["id"]),
            match["state"],
            (match["lock"] or "")[:NAME_CHARS],
            (match["owner"] or "")[:NAME_CHARS],
            int(match["owner_id"]) if match["owner_id"] else None,
            tuple(frames[:MOST_FRAMES]),
            len(frames) > MOST_FRAMES or any(line.strip() == _CUT for line in lines),
        )


def _frame(line: str) -> str | None:
    match = _FRAME.match(line)
    if match is None:
        return None
    number = _LINE.search(match["place"])
    return f"{match['method'][:NAME_CHARS]}{number[0] if number else ''}"
