"""The folder of one instance: its lock, logs and sockets."""

import fcntl
import hashlib
import os
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_ANSWER_WITHIN_S = 1.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_ANSWER_WITHIN_S):
            return True
    except OSError:
        return False


# The path of a Unix socket may have 107 bytes on Linux, 103 on other systems.
LONGEST_SOCKET_PATH_BYTES = 100


class InstanceRuns(Exception):
    """The message says which process has locked this home."""


@dataclass(frozen=True)
class Home:
    root: Path

    def folder(self, *names: str) -> Path:
        """The folder, created if needed, private to its user."""
        path = self.root.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def lock(self, who: str) -> IO[str]:
        """Locks until the returned file is closed or the process ends. Raises
        :class:`InstanceRuns`. ``webapp/launch/preflight.py`` reads the same file.
        """
        handle = (self.folder() / "instance.lock").open("a+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            handle.close()
            raise InstanceRuns(
                f"Weir already runs in WEIR_HOME {self.root} ({holder}): stop it first, or set "
                "another WEIR_HOME and WEIR_BIND."
            ) from error
        handle.truncate(0)
        handle.write(who)
        handle.flush()
        return handle

    def socket_path(self, name: str) -> Path:
        """In the home, or in a private temporary folder if that path is too long."""
        path = self.folder("sockets") / name
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH_BYTES:
            return path
        token = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        short = Path(tempfile.gettempdir(), f"weir-{os.getuid()}-{token}")
        short.mkdir(mode=0o700, exist_ok=True)
        if short.is_symlink() or short.stat().st_uid != os.getuid() or short.stat().st_mode & 0o077:
            raise PermissionError(
                f"{short} belongs to somebody else: remove it, or use a shorter WEIR_HOME."
            )
        return short / name

    def record_redis(self, url: str) -> None:
        write_privately(self.root / "redis.url", url + "\n")

    def forget_redis(self) -> None:
        (self.root / "redis.url").unlink(missing_ok=True)


def write_privately(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(name).replace(path)
