from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata, Dialect
from ingest.metadata.window import Window

MOST_NESTED = 16
"""Flink nests two or three deep; a forged file must not exhaust the stack."""

MOST_SINGLE_PARTS = 500_000
"""Handles of one keyed state that are kept as objects; :mod:`file_runs` do not count."""


@dataclass(slots=True)
class Reading:
    """``directory``: that of the ``_metadata``, without a slash at its end. ``in_doubt``: another
    dialect of the same version would have read some bytes differently. ``places``: positions of
    absolute paths, ascending; filled if given.
    """

    window: Window
    dialect: Dialect
    directory: str
    depth: int = 0
    in_doubt: bool = False
    parts: int = 0
    places: "array[int] | None" = None

    def path(self) -> str:
        if self.places is not None:
            self.places.append(self.window.position)
        return self.window.text()

    def one_more_part(self) -> None:
        self.parts += 1
        if self.parts > MOST_SINGLE_PARTS:
            raise DamagedMetadata(
                self.window.position,
                message(
                    "more than {most_single_parts:count} handles in one keyed state",
                    most_single_parts=MOST_SINGLE_PARTS,
                ),
            )

    @contextmanager
    def nested(self) -> Iterator[None]:
        if self.depth >= MOST_NESTED:
            raise DamagedMetadata(
                self.window.position,
                message(
                    "more than {most_nested:number} handles in each other", most_nested=MOST_NESTED
                ),
            )
        self.depth += 1
        yield
        self.depth -= 1
