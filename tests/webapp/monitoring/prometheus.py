"""A real Prometheus with a configuration of its own, on loopback."""

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from webapp.launch.home import free_port

SECONDS = 60


@contextmanager
def running_prometheus(
    configuration: dict[str, Any], folder: Path
) -> Iterator[Callable[[str], Any]]:
    """Yields a function that asks an address below its ``/api/v1/``; None while it is not up."""
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    port = free_port()
    words = [
        str(shutil.which("prometheus")),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)

    def asked(path: str) -> Any:
        try:
            address = f"http://127.0.0.1:{port}/api/v1/{path}"
            with urllib.request.urlopen(address, timeout=5) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    try:
        yield asked
    finally:
        process.kill()
        process.wait()


def until(holds: Callable[[], bool]) -> None:
    """Waits for it; fails after a minute."""
    give_up = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.2)
