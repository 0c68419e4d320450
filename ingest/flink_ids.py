"""Ids of Flink become parts of paths, keys and addresses. Jobs, vertices and operators have 32 hex
digits; TaskManagers free text (``taskmanager.resource-id``, a YARN container, a host with port and
hash).
"""

import re
from typing import TypeGuard

MAX_TASKMANAGER_CHARS = 300

_FLINK_ID = re.compile(r"[0-9a-f]{32}")
_GIVEN_ID = re.compile(
    "(?:(?:0{8}|f{8})[0-9a-f]{8}[0-9a-f]{16}|[0-9a-f]{16}(?:0{8}|f{8})[0-9a-f]{8})"
)
"""Made of a hash or a number of 32 bits; half of a random id looks so once in a billion."""
_DIRECTORIES = frozenset({".", ".."})


def is_flink_id(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _FLINK_ID.fullmatch(value) is not None


def is_given(job_id: str) -> bool:
    """Whether an id was chosen rather than drawn at random: other jobs may have it as well."""
    return bool(_GIVEN_ID.fullmatch(job_id))


def is_taskmanager_id(value: object) -> TypeGuard[str]:
    """Printable text that names no directory."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TASKMANAGER_CHARS
        and value.isprintable()
        and not {"/", "\\"} & set(value)
        and value not in _DIRECTORIES
    )
