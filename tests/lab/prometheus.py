"""A real Prometheus (Debian's package) on loopback, for as long as its ``with`` block: it scrapes,
or holds samples of the past.
"""

import json
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.lab.cluster import VARIABLE, Lab
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import free_port, listens

EXECUTABLE = shutil.which("prometheus")
SCRAPED_EVERY_S = 2
UP_WITHIN_S = 60


class Server:
    """``jobs`` are scrape configurations; ``web`` is the content of a ``--web.config.file``:
    sign-in and TLS.
    """

    def __init__(
        self,
        folder: Path,
        jobs: Sequence[Mapping[str, Any]] = (),
        web: Mapping[str, Any] | None = None,
    ) -> None:
        self.port = free_port()
        every = f"{SCRAPED_EVERY_S}s"
        folder.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(
            json.dumps({"global": {"scrape_interval": every}, "scrape_configs": list(jobs)})
        )
        (folder / "web.yml").write_text(json.dumps(web or {}))
        self._is_secure = "tls_server_config" in (web or {})
        self._folder = folder
        self._mark = secrets.token_hex(16)

    @property
    def url(self) -> str:
        return f"{'https' if self._is_secure else 'http'}://127.0.0.1:{self.port}"

    def hold(self, openmetrics: str) -> None:
        """Keep these samples, which may be of any time; before it is started.

        Debian's ``promtool`` makes blocks of them.
        """
        (self._folder / "samples.txt").write_text(openmetrics)
        made = [str(self._folder / "samples.txt"), str(self._folder / "data")]
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", *made],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        if EXECUTABLE is None:
            raise FileNotFoundError("Prometheus is not installed; .ci/run installs it")
        guard = [sys.executable, "-m", "tests.lab.guard", self._mark, "5"]
        self._guard = subprocess.Popen(
            guard,
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        command = [
            *(
                EXECUTABLE,
                f"--config.file={self._folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={self._folder / 'data'}",
            ),
            *(
                f"--web.listen-address=127.0.0.1:{self.port}",
                f"--web.config.file={self._folder / 'web.yml'}",
                "--log.level=warn",
            ),
            "--storage.tsdb.retention.time=10y",
        ]
        with (self._folder / "prometheus.out").open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env={VARIABLE: self._mark},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + UP_WITHIN_S
        while not listens("127.0.0.1", self.port):
            assert time.monotonic() < deadline, f"Prometheus did not come up: see {self._folder}"
            time.sleep(0.1)
        return self

    def __exit__(self, *_failure: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        if self._guard.stdin:
            self._guard.stdin.close()
        self._guard.wait(20)


class Prometheus(Server):
    """Scrapes the processes of one lab; ``selector`` picks its series."""

    selector = 'cluster="lab"'

    def __init__(self, lab: Lab, folder: Path) -> None:
        targets = [f"127.0.0.1:{port}" for port in lab.layout.metrics_ports.values()]
        super().__init__(
            folder,
            [
                {
                    "job_name": "flink",
                    "static_configs": [{"targets": targets, "labels": {"cluster": "lab"}}],
                }
            ],
        )
