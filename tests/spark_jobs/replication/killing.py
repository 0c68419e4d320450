"""What a process does to files, seen from below: which places it changes, and what is left where it
dies at any of these changes.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.storage.local_files import LocalFiles

_ONE_PATH = {"os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod", "os.chown", "os.utime"}
_TWO_PATHS = {"os.rename", "os.link", "os.symlink"}


class Killed(BaseException):
    """The process is gone: nothing catches it, and nothing that it still tries has an effect."""


class Watched:
    """``changed``: every path that was written to, made or taken away below ``folder``, in order."""

    def __init__(self, folder: Path, after: int | None) -> None:
        self.folder, self.after, self.changed = str(folder), after, list[str]()

    def see(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _mode, flags = args
            paths = [_of_open(path)] if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else []
        elif event in _ONE_PATH:
            # The last argument of these events is the directory, where there may be one.
            paths = [_spelled_out(args[0], args[-1] if event != "os.truncate" else -1)]
        elif event in _TWO_PATHS:
            paths = [_spelled_out(args[0], args[-2]), _spelled_out(args[1], args[-1])]
        else:
            return
        below = [
            str(path)
            for path in paths
            if isinstance(path, str | os.PathLike) and str(path).startswith(self.folder)
        ]
        if not below:
            return
        if self.after is not None and len(self.changed) >= self.after:
            raise Killed
        self.changed += below


def _spelled_out(path: Any, folder: Any) -> Any:
    """The whole path of what is named by itself, or within an open directory."""
    if isinstance(path, int):
        return str(Path(f"/proc/self/fd/{path}").readlink())
    if isinstance(folder, int) and folder >= 0 and not os.fspath(path).startswith("/"):
        return f"{Path(f'/proc/self/fd/{folder}').readlink()}/{path}"
    return path


def _of_open(path: Any) -> Any:
    """Python does not tell in which directory a file is opened; who makes one has it at hand."""
    if not isinstance(path, str) or path.startswith("/"):
        return path
    frame = sys._getframe()
    while frame.f_code is not LocalFiles.create.__code__:
        assert frame.f_back is not None, f"{path} is made in an unknown directory"
        frame = frame.f_back
    return _spelled_out(path, frame.f_locals["parent"])


_watching: list[Watched] = []
_hooked: list[bool] = []


@contextmanager
def watched(folder: Path, kill_after: int | None = None) -> Iterator[Watched]:
    """``kill_after``: so many changes come about, none after them."""
    if not _hooked:
        sys.addaudithook(lambda event, args: [one.see(event, args) for one in _watching] and None)
        _hooked.append(True)
    found = Watched(folder, kill_after)
    _watching.append(found)
    try:
        yield found
    finally:
        _watching.remove(found)
