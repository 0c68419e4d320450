"""Who is still to be forgotten, as files in the home: they outlive the process that wrote them, and every process of the home finds them.

Neither Redis nor the database keeps them, since either may be what is away.
"""

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from django.conf import settings

LONGEST_CHANGE_S = 60.0
"""A note of a change that others do not see yet stays so long after its process died, for then it is seen or never will be."""
_BEGUN = ".begun"


@dataclass(frozen=True)
class Note:
    path: Path

    @classmethod
    def write(cls, who: str, *, is_begun: bool) -> Self:
        """``is_begun``: the change is in a transaction that may end later. On the disk when this returns; raises ``OSError``."""
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{who}.{secrets.token_hex(6)}{_BEGUN if is_begun else ''}"
        path.touch(mode=0o600)
        for place in (path, folder):
            descriptor = os.open(place, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return cls(path)

    @property
    def who(self) -> str:
        return self.path.name.partition(".")[0]

    def change_is_seen(self) -> None:
        """From now on whoever tells Redis removes it."""
        with suppress(OSError):
            self.path.rename(self.path.with_suffix(""))

    def is_told(self) -> None:
        """Redis knows of it. Before the change is seen it will have to be told again."""
        with suppress(OSError):
            if self.path.suffix != _BEGUN or self.path.stat().st_mtime < time.time() - LONGEST_CHANGE_S:
                self.path.unlink()


def notes() -> list[Note]:
    """Raises ``OSError`` where nobody can tell."""
    try:
        return [Note(Path(entry.path)) for entry in os.scandir(_folder())]
    except FileNotFoundError:
        return []


def _folder() -> Path:
    home: Path = settings.WEIR.home
    return home / "to-forget"
