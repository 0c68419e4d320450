"""Opens files that others wrote: only regular ones, since a FIFO or a device never ends."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ingest import beneath

_KINDS = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))


class NotRegular(beneath.Unusable):
    pass


def open_regular(
    path: str | Path,
    within: str | Path | None = None,
    buffering: int = -1,
    check: Callable[[Path], None] | None = None,
) -> BinaryIO:
    """The file; reading it never waits. Raises ``NotRegular``, or ``OSError`` if it cannot be
    opened.

    Links are followed. With ``within``, only files below it are opened, even if links change
    meanwhile. ``check`` gets the path with links resolved and may raise ``OSError``.
    """
    try:
        resolved = Path(path).resolve(strict=True)
    except RuntimeError:  # until Python 3.13
        raise NotRegular("it is a link that leads in a circle") from None
    root = Path("/") if within is None else Path(within).resolve()
    if not resolved.is_relative_to(root):
        raise NotRegular(
            f"it is a link that leads out of {within}; put the file itself in its place"
        )
    if check is not None:
        check(resolved)
    names = beneath.names_below(root, resolved)
    if not names:
        _require_regular(resolved.stat().st_mode)
    with beneath.open_folder(root, names[:-1]) as folder:
        # The kind is checked before the file is opened, since some devices act when opened.
        _require_regular(beneath.refuse_link(folder, names[-1], path).st_mode)
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(names[-1], flags, dir_fd=folder)
    try:
        _require_regular(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb", buffering=buffering)
    except BaseException:
        os.close(handle)
        raise


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise NotRegular(f"it is {kind}, not a regular file")
