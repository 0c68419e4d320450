"""Hosts that a finding names: ``host`` and ``hosts`` in its data, nested at most ``DEEPEST`` times,
and related subjects.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MOST = 50
NAME_CHARS = 300
DEEPEST = 5


def hosts_of(data: Any, related: Any) -> list[str]:
    names = {
        name[:NAME_CHARS]
        for name in (*_in_data(data, 0), *_in_related(related))
        if isinstance(name, str) and name
    }
    return sorted(names)[:MOST]


def _in_data(data: Any, depth: int) -> Iterator[Any]:
    if depth > DEEPEST:
        return
    if isinstance(data, list | tuple):
        for item in data:
            yield from _in_data(item, depth + 1)
    elif isinstance(data, Mapping):
        for name, item in data.items():
            if name in ("host", "hosts"):
                yield from item if isinstance(item, list | tuple) else (item,)
            else:
                yield from _in_data(item, depth + 1)


def _in_related(related: Any) -> Iterator[Any]:
    for row in related if isinstance(related, list | tuple) else ():
        if isinstance(row, Mapping) and row.get("kind") == "host":
            yield row.get("subject")
