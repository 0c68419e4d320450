"""A disk that is really full: a small one of its own where this machine lets us mount one, else a
limit on what may be written.
"""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SIZE = "12m"
LIMITED = os.environ.get("WEIR_ATTACK_NO_MOUNT", "") != ""
"""To try the limit where a mount would be possible."""


@dataclass
class Disk:
    path: Path
    is_mounted: bool

    @contextmanager
    def full(self, leaving_bytes: int = 0) -> Iterator[None]:
        """Nothing more, or ``leaving_bytes`` more, can be written within; then there is room
        again.
        """
        if self.is_mounted:
            ballast = self.path / ".ballast"
            _fill(ballast, leaving_bytes)
            yield
            ballast.unlink()
            return
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (leaving_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    folder.mkdir(parents=True, exist_ok=True)
    mounted = not LIMITED and _ran(
        "mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=700", "weir-attack", str(folder)
    )
    try:
        yield Disk(folder, mounted)
    finally:
        if mounted:
            _ran("umount", "-l", str(folder))


def _fill(ballast: Path, leaving_bytes: int) -> None:
    with ballast.open("wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    out.write(b"\0" * size)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    if leaving_bytes:
        os.truncate(ballast, max(ballast.stat().st_size - leaving_bytes, 0))


def _ran(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=20).returncode == 0
    except OSError:
        return False
