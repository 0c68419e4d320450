"""A Redis for tests: the one that `make run` starts, on a socket of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.webapp.web.test_front import wait_for
from webapp.supervisor import redis as embedded
from webapp.supervisor.ports import redis_answers


@contextmanager
def valkey(folder: Path) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """Its socket and process."""
    socket = folder / "redis.sock"
    options = {"port": "0", "unixsocket": str(socket), "save": "", "appendonly": "no"}
    command = [embedded.executable(), *(word for name, value in options.items() for word in (f"--{name}", value))]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: redis_answers(socket), 20)
        yield socket, process
    finally:
        process.kill()
        process.wait()
