"""``/jobs/:id/vertices/:vid``: where each subtask runs, which attempt it is, and its state."""

import re
from dataclasses import dataclass
from typing import Any

from ingest.errors import Skipped
from ingest.flink_ids import MAX_TASKMANAGER_CHARS, is_taskmanager_id
from ingest.flink_rest.payloads.fields import Fields

MAX_PARALLELISM = 2**15
"""Flink's own upper bound; a larger index is no subtask."""

_NOWHERE = "(unassigned)"
_PORT = re.compile(r":\d{1,5}$")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the newest attempt of one subtask runs."""

    attempt: int | None = None
    host: str | None = None
    taskmanager_id: str | None = None
    state: str | None = None


def parallelism(body: Any) -> int | None:
    """Raises ``Skipped`` on a bad shape."""
    return Fields(body).whole("parallelism")


def placements(body: Any) -> dict[int, Placement]:
    """Placement by subtask index. Raises ``Skipped`` on a bad shape."""
    found = {}
    for subtask in Fields(body).objects("subtasks"):
        found[subtask_index(subtask)] = Placement(
            attempt=subtask.whole("attempt"),
            host=_host(subtask),
            taskmanager_id=taskmanager_id(subtask, "taskmanager-id"),
            state=subtask.upper("status"),
        )
    return found


def subtask_index(fields: Fields, name: str = "subtask") -> int:
    """The 0-based index of a subtask object; raises ``Skipped`` where it cannot be one."""
    index = fields.the_whole(name)
    if index >= MAX_PARALLELISM:
        raise Skipped(f"{fields.place}.{name}: expected less than {MAX_PARALLELISM}, got {index}")
    return index


def host_and_port(text: str | None) -> str | None:
    """``host:port`` as given, ``None`` where Flink says that there is none."""
    return None if not text or text.startswith("(") else text


def taskmanager_id(fields: Fields, name: str) -> str | None:
    """Resource id, ``None`` where Flink says ``(unassigned)``. Raises ``Skipped`` for a text that no TaskManager may be called."""
    text = fields.text(name)
    return None if not text or text == _NOWHERE else _checked(fields, name, text)


def the_taskmanager_id(fields: Fields) -> str:
    """The id of a TaskManager object; raises ``Skipped`` where there is none."""
    return _checked(fields, "id", fields.the_text("id"))


def _checked(fields: Fields, name: str, text: str) -> str:
    if not is_taskmanager_id(text):
        place = f"{fields.place}.{name}" if fields.place else name
        raise Skipped(f"{place}: expected the id of a TaskManager, at most {MAX_TASKMANAGER_CHARS} printable characters without slashes")
    return text


def _host(subtask: Fields) -> str | None:
    """``endpoint`` (1.19+) always carries a port; ``host`` (until 1.20) does in some releases only."""
    endpoint = host_and_port(subtask.text("endpoint"))
    if endpoint:
        return _PORT.sub("", endpoint)
    host = host_and_port(subtask.text("host"))
    return _PORT.sub("", host) if host and host.count(":") == 1 else host
