"""A real Prometheus (Debian's package) that scrapes a lab cluster, on loopback and for as long as its ``with`` block."""

import json
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.lab.cluster import VARIABLE, Lab
from tests.lab.rest import call_or_none
from webapp.config.environment import PROJECT_DIR
from webapp.supervisor.ports import free_port

EXECUTABLE = shutil.which("prometheus")
SCRAPED_EVERY_S = 2
UP_WITHIN_S = 60


class Prometheus:
    """``selector`` picks this lab's series."""

    selector = 'cluster="lab"'

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.port = free_port()
        targets = [f"127.0.0.1:{port}" for port in lab.layout.metrics_ports.values()]
        scraped = {"job_name": "flink", "static_configs": [{"targets": targets, "labels": {"cluster": "lab"}}]}
        every = f"{SCRAPED_EVERY_S}s"
        folder.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps({"global": {"scrape_interval": every}, "scrape_configs": [scraped]}))
        self._folder = folder
        self._mark = secrets.token_hex(16)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        if EXECUTABLE is None:
            raise FileNotFoundError("Prometheus is not installed; .ci/run installs it")
        guard = [sys.executable, "-m", "webapp.supervisor.guard", self._mark, "5"]
        self._guard = subprocess.Popen(
            guard,
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        command = [
            *(EXECUTABLE, f"--config.file={self._folder / 'prometheus.yml'}", f"--storage.tsdb.path={self._folder / 'data'}"),
            *(f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"),
        ]
        with (self._folder / "prometheus.out").open("wb") as output:
            self._process = subprocess.Popen(
                command, env={VARIABLE: self._mark}, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        deadline = time.monotonic() + UP_WITHIN_S
        while not call_or_none(f"{self.url}/api/v1/status/runtimeinfo"):
            assert time.monotonic() < deadline, f"Prometheus did not come up: see {self._folder}"
            time.sleep(0.2)
        return self

    def __exit__(self, *_failure: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard.wait(20)
