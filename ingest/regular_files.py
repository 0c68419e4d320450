"""Opens files that others wrote: only regular ones, since a FIFO or a device never ends, and only where they should lie."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))


class NotRegular(OSError):
    """What lies there is no file that can be read to its end, or leads elsewhere; the message says which."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.strerror = why


def open_regular(path: str | Path, within: Path | None = None, buffering: int = -1) -> BinaryIO:
    """The file; reading it never waits. Raises ``NotRegular``, or ``OSError`` where it cannot be opened.

    Links are followed; with ``within`` only to what lies below that directory.
    """
    try:
        real = Path(path).resolve(strict=True)
    except RuntimeError:  # until Python 3.13
        raise NotRegular("it is a link that leads in a circle") from None
    if within is not None and not real.is_relative_to(within.resolve()):
        raise NotRegular("it is a link that leads out of the folder")
    # Looked at before it is opened: opening alone makes some devices act.
    _refuse_others(real.stat().st_mode)
    handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _refuse_others(os.fstat(handle).st_mode)
        return os.fdopen(handle, "rb", buffering=buffering)
    except BaseException:
        os.close(handle)
        raise


def _refuse_others(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegular(f"it is {next((name for is_it, name in _KINDS if is_it(mode)), 'a device')} and no regular file")
