"""A whole site of real processes: Redis, Celery workers, beat, a simulated JobManager; and a look
into its database.
"""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import redis

from tests.migrated import home_with_database
from webapp.launch.variables import redis_server

ROOT = Path(__file__).resolve().parents[3]


class Site:
    """To be used in a ``with``: at its end every process is killed."""

    def __init__(self, home: Path) -> None:
        self.home = home_with_database(home)
        self.socket = home / "redis.sock"
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("WEIR_", "DJANGO_", "SPARK_"))
            },
            "DJANGO_SETTINGS_MODULE": "tests.webapp.pipeline.site_settings",
            "WEIR_HOME": str(home),
            "WEIR_REDIS_URL": f"unix://{self.socket}",
            "WEIR_COLLECT_INTERVAL_S": "3",
            "WEIR_SPARK_INTERVAL_S": "3",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.redis = self._start_redis()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            kill(process)

    def start(self, *command: str, log: str) -> "subprocess.Popen[bytes]":
        with (self.home / f"{log}.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                env=self.environment,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def manage(self, *command: str) -> str:
        return self._output("manage.py", *command)

    def python(self, code: str) -> str:
        """What ``code`` prints, run with the settings of the site."""
        return self._output("-c", code)

    def _output(self, *arguments: str) -> str:
        words = [sys.executable, *arguments]
        done = subprocess.run(
            words,
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def worker(
        self, name: str, queues: str = "collect,spark,default", concurrency: int = 2
    ) -> "subprocess.Popen[bytes]":
        return self.start(
            *(
                sys.executable,
                "-m",
                "celery",
                "--app",
                "webapp.config.celery",
                "worker",
                "--queues",
                queues,
                "--hostname",
                f"{name}@test",
            ),
            *(
                "--concurrency",
                str(concurrency),
                "--without-gossip",
                "--without-mingle",
                "--loglevel",
                "INFO",
            ),
            log=f"worker-{name}",
        )

    def beat(self) -> "subprocess.Popen[bytes]":
        return self.start(
            sys.executable,
            "-m",
            "celery",
            "--app",
            "webapp.config.celery",
            "beat",
            "--pidfile",
            "",
            log="beat",
        )

    def jobmanager(self, jobs: int = 2) -> "tuple[subprocess.Popen[bytes], str]":
        """A simulated JobManager out of a recording; its process and address."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        simulated = (
            sys.executable,
            "-m",
            "tests.bench.simulated_jobmanagers",
            "1.20.5/A",
            str(port),
            "1",
            str(jobs),
        )
        process = self.start(*simulated, log="jobmanager")
        wait_for(lambda: _listens(port), "the simulated JobManager")
        return process, f"http://127.0.0.1:{port}"

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.home / "weir.sqlite3", timeout=30) as connection:
            return connection.execute(query).fetchall()

    def count(self, what: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {what}")[0][0])

    def _start_redis(self) -> "subprocess.Popen[bytes]":
        options = (
            "--port",
            "0",
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
            "--appendonly",
            "no",
        )
        process = self.start(redis_server(), *options, log="redis")
        wait_for(self.socket.exists, "Redis")
        return process

    def restart_redis(self) -> None:
        """Killed, with all it held, and started anew."""
        kill(self.redis)
        self.socket.unlink(missing_ok=True)
        self.redis = self._start_redis()

    def flush_redis(self) -> None:
        redis.Redis(unix_socket_path=str(self.socket)).flushall()

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in self.home.glob("*.log"))


def kill(process: "subprocess.Popen[bytes]") -> None:
    """As kill -9 of a process and all it forked."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin:
        process.stdin.close()


def wait_for(condition: Callable[[], object], what: str, within_s: float = 240) -> None:
    give_up = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < give_up, f"{what} did not come within {within_s:.0f} s"
        time.sleep(0.1)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
