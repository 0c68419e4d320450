"""Opens paths below a root without following a link: each directory from its parent (``openat``
with ``O_NOFOLLOW``), since whoever may write below a root can put a link there at any moment.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

_WAY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AS_AROUND = 0o7777 & ~stat.S_ISVTX & ~stat.S_IWOTH
"""The bits of the parent's mode that a new directory gets."""
_PASSING = getattr(os, "O_PATH", os.O_RDONLY)
"""Enough to pass a directory that cannot be listed."""


Make = Literal["as_around", "private"] | None


class Unusable(OSError):
    """``strerror`` says why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.strerror = why


class LeadsElsewhere(Unusable):
    """A link, or a name that is not below its root."""


def steps(root: str | Path, path: str | Path) -> tuple[str, ...]:
    """Raises ``LeadsElsewhere``."""
    try:
        names = Path(path).relative_to(root).parts
    except ValueError:
        names = ("..",)
    if ".." in names:
        raise LeadsElsewhere(f"{path} is not below {root}")
    return names


@contextmanager
def folder(root: str | Path, names: tuple[str, ...] = (), *, make: Make = None) -> Iterator[int]:
    """A descriptor of the directory, for ``dir_fd``; it cannot be listed. ``make`` creates missing
    directories, except the root. Raises ``LeadsElsewhere``, else ``OSError``.
    """
    here = os.open(root, _PASSING | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(names):
            inner = _entered(here, name, Path(root, *names[: number + 1]), make)
            os.close(here)
            here = inner
        yield here
    finally:
        os.close(here)


def refuse_link(within: int, name: str, path: str | Path) -> os.stat_result:
    """The ``stat`` of the entry itself. Raises ``LeadsElsewhere``, or ``OSError`` if it is not
    there.
    """
    link = os.stat(name, dir_fd=within, follow_symlinks=False)
    if stat.S_ISLNK(link.st_mode):
        raise LeadsElsewhere(
            f"{path} is a link, and links below a root are not followed; replace it by what it "
            "leads to, or register what it leads to as a root of its own"
        )
    return link


def like(descriptor: int, other: os.stat_result, mask: int = 0o777) -> None:
    """Give an open file the mode of another and, if permitted, its owner."""
    with suppress(OSError):
        os.fchown(descriptor, other.st_uid, other.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(other.st_mode) & mask)


def _entered(here: int, name: str, path: Path, make: Make) -> int:
    try:
        return os.open(name, _PASSING | _WAY, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    except OSError:
        refuse_link(here, name, path)
        raise
    try:
        os.mkdir(name, dir_fd=here)
    except FileExistsError:
        return _entered(here, name, path, make=None)
    made = os.open(name, os.O_RDONLY | _WAY, dir_fd=here)
    if make == "as_around":
        like(made, os.fstat(here), AS_AROUND)
    return made
