"""Opens paths below a root without following a link. Each directory is opened from its parent
(``openat`` with ``O_NOFOLLOW``), since others may add a link at any moment.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

_NO_LINK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PARENT_MODE_BITS = 0o7777 & ~stat.S_ISVTX & ~stat.S_IWOTH
_TRAVERSE = getattr(os, "O_PATH", os.O_RDONLY)
"""Opens also a directory that cannot be listed."""


Make = Literal["like_parent", "private"] | None


class Unusable(OSError):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.strerror = reason


class LeadsElsewhere(Unusable):
    """The path contains a link, or is not below its root."""


def names_below(root: str | Path, path: str | Path) -> tuple[str, ...]:
    """The names of ``path`` from ``root`` on. Raises ``LeadsElsewhere``."""
    try:
        names = Path(path).relative_to(root).parts
    except ValueError:
        names = ("..",)
    if ".." in names:
        raise LeadsElsewhere(f"{path} is not below {root}")
    return names


@contextmanager
def open_folder(
    root: str | Path, names: tuple[str, ...] = (), *, make: Make = None
) -> Iterator[int]:
    """A descriptor of the directory, for ``dir_fd``, perhaps not for listing. ``make`` creates
    missing directories, except the root. Raises ``LeadsElsewhere``, else ``OSError``.
    """
    parent = os.open(root, _TRAVERSE | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for number, name in enumerate(names):
            child = _open_child(parent, name, Path(root, *names[: number + 1]), make)
            os.close(parent)
            parent = child
        yield parent
    finally:
        os.close(parent)


def refuse_link(parent: int, name: str, path: str | Path) -> os.stat_result:
    """The ``stat`` of the entry ``name`` of the directory ``parent``. Raises ``LeadsElsewhere`` for
    a link, and ``OSError`` if the entry is missing.
    """
    entry = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISLNK(entry.st_mode):
        raise LeadsElsewhere(
            f"{path} is a link, and links below a root are not followed; replace it by what it "
            "leads to, or register what it leads to as a root of its own"
        )
    return entry


def copy_mode(descriptor: int, other: os.stat_result, mask: int = 0o777) -> None:
    """Give an open file the mode of ``other`` and, if permitted, the owner of ``other``."""
    with suppress(OSError):
        os.fchown(descriptor, other.st_uid, other.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(other.st_mode) & mask)


def _open_child(parent: int, name: str, path: Path, make: Make) -> int:
    try:
        return os.open(name, _TRAVERSE | _NO_LINK, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    except OSError:
        refuse_link(parent, name, path)
        raise
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return _open_child(parent, name, path, make=None)
    created = os.open(name, os.O_RDONLY | _NO_LINK, dir_fd=parent)
    if make == "like_parent":
        copy_mode(created, os.fstat(parent), PARENT_MODE_BITS)
    return created
