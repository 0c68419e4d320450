from array import array
from dataclasses import dataclass

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata, Dialect
from ingest.metadata.window import Window

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
