"""Checks ids of Flink: they become parts of paths, keys and addresses.

Ids of jobs, vertices and operators have 32 hex digits. Ids of TaskManagers are free text
(``taskmanager.resource-id``, a YARN container, a host with port and hash).
"""

import re
from typing import TypeGuard

MAX_TASKMANAGER_CHARS = 300

_FLINK_ID = re.compile(r"[0-9a-f]{32}")
_CHOSEN_ID = re.compile(
    "(?:(?:0{8}|f{8})[0-9a-f]{8}[0-9a-f]{16}|[0-9a-f]{16}(?:0{8}|f{8})[0-9a-f]{8})"
)
"""Ids made of a hash or a number of 32 bits. A random id matches once in a billion times."""
_DIRECTORIES = frozenset({".", ".."})


def is_flink_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _FLINK_ID.fullmatch(value) is not None


def is_given(job_id: str) -> bool:
    """Whether the id was chosen, not random: other jobs may have it, too."""
    return bool(_CHOSEN_ID.fullmatch(job_id))


def is_taskmanager_id(value: object) -> TypeGuard[str]:
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TASKMANAGER_CHARS
        and value.isprintable()
        and not {"/", "\\"} & set(value)
        and value not in _DIRECTORIES
    )
