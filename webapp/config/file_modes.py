"""Restricts the permissions of Weir's files: older or manually created homes may be open to all."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FILES = (
    "weir.sqlite3*",
    "instance.lock",
    "migrate.lock",
    "redis.url",
    "recordings.json",
    "celerybeat-schedule*",
)
FOLDERS = (
    "secrets",
    "logs",
    "lake",
    "runs",
    "plans",
    "reports",
    "sockets",
    "redis",
    "spark",
    "demo",
)
FOLDERS_OF_FILES = ("secrets", "logs")
SIGNS_OF_HOME = ("weir.sqlite3", "secrets")


def restrict(home: Path, umask: int, database: str) -> None:
    """Remove the permissions that ``umask`` excludes. ``database``: the file of SQLite, or ""."""
    for path in _paths(home, database):
        with suppress(OSError):
            _restrict(path, umask)


def _paths(home: Path, database: str) -> Iterator[Path]:
    if any((home / sign).exists() for sign in SIGNS_OF_HOME) and home != Path.home():
        yield home
    for pattern in FILES:
        yield from home.glob(pattern)
    for name in FOLDERS:
        yield home / name
    for name in FOLDERS_OF_FILES:
        yield from (home / name).glob("*") if not (home / name).is_symlink() else ()
    if database:
        yield from (Path(f"{database}{end}") for end in ("", "-wal", "-shm"))


def _restrict(path: Path, umask: int) -> None:
    status = path.lstat()
    is_own = status.st_uid == os.geteuid() and (
        stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    )
    # A sticky folder, such as /tmp, is for several users.
    if not is_own or status.st_mode & stat.S_ISVTX or not status.st_mode & umask:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.path.samestat(os.fstat(descriptor), status):
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~umask)
    finally:
        os.close(descriptor)
