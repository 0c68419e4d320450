"""Folders in other people's storage: made as the ones around them are, whatever this process may show of its own files."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def make(folder: Path) -> None:
    """With its parents; each new one has the mode of the folder it is in, less writing for everybody, and its owner where that is allowed.

    A file that is put back must be as readable as it was.
    """
    if folder.is_dir():
        return
    make(folder.parent)
    around = folder.parent.stat()
    try:
        folder.mkdir()
    except FileExistsError:
        return
    like(folder, around, 0o7777 & ~stat.S_ISVTX & ~stat.S_IWOTH)


def like(path: Path, other: os.stat_result, mask: int = 0o777) -> None:
    """The same owner where that is allowed, and the same mode."""
    with suppress(OSError):
        os.chown(path, other.st_uid, other.st_gid)
    path.chmod(stat.S_IMODE(other.st_mode) & mask)
