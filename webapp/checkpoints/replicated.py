"""The replication factor of a checkpoint's storage. A higher layer knows it, and registers its
look-up here.
"""

from collections.abc import Callable
from typing import Protocol


class Replicated(Protocol):
    """``factor`` is None if unknown, or if the storage has none; ``why`` is its source."""

    @property
    def factor(self) -> float | None: ...

    @property
    def why(self) -> str: ...


_look_ups: list[Callable[[str], Replicated]] = []


def register(look_up: Callable[[str], Replicated]) -> None:
    """``look_up`` gets the canonical path of a ``_metadata``."""
    if look_up not in _look_ups:
        _look_ups.append(look_up)


def replicated_at(path: str) -> Replicated | None:
    """None if nobody can say, or no path is known."""
    return next((look_up(path) for look_up in _look_ups), None) if path else None
