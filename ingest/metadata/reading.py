from array import array
from dataclasses import dataclass

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata, Dialect
from ingest.metadata.window import Window

MOST_SINGLE_PARTS = 500_000
"""Most handles of a keyed state as objects; ``file_runs`` do not count."""


@dataclass(slots=True)
class Reading:
    """The state of reading a file. ``directory``: of the ``_metadata``, without trailing slash.
    ``in_doubt``: another dialect of this version would have read some bytes differently.
    ``paths_at``: gets positions of absolute paths, ascending.
    """

    window: Window
    dialect: Dialect
    directory: str
    in_doubt: bool = False
    parts: int = 0
    paths_at: "array[int] | None" = None

    def path(self) -> str:
        if self.paths_at is not None:
            self.paths_at.append(self.window.position)
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
