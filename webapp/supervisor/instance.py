"""One running Weir: everything it consists of, in the order in which it starts and stops."""

import contextlib
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO

from ingest.replay.shipped import REMOVED
from spark_jobs import spark_on_demand
from webapp.config.environment import PROJECT_DIR, Environment
from webapp.supervisor import demo, marked_processes, redis, services, spark_connect
from webapp.supervisor.child import Child, Program
from webapp.supervisor.console import say, say_step
from webapp.supervisor.forks import ForkServer
from webapp.supervisor.home import Home
from webapp.supervisor.ports import free_port
from webapp.supervisor.spark_demand import SparkDemand, StartedSpark

LEFTOVERS_END_WITHIN_S = 5.0
STEP_ENDS_WITHIN_S = 5.0


class Stopped(Exception):
    """The start was broken off by Ctrl-C or a signal."""


class Failed(Exception):
    """A step of the start failed; the message says which, and where to read more."""


class Instance:
    """Starts and stops the parts. ``stop`` is the event that says that it is over."""

    def __init__(self, settings: Environment, home: Home, variables: Mapping[str, str], stop: threading.Event) -> None:
        self.settings, self.home, self.stop = settings, home, stop
        self.logs = home.folder("logs")
        self.children: list[Child] = []
        self._mark = secrets.token_hex(16)
        self._variables = {
            **variables,
            marked_processes.VARIABLE: self._mark,
            "WEIR_HOME": str(home.root),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT_DIR), variables.get("PYTHONPATH", "")])),
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
        }
        self._guard = self._start_guard()
        self._demand: SparkDemand | None = None
        self._forks = ForkServer(PROJECT_DIR, self._variables, self.logs / "workers.log")

    def start_redis(self) -> Child | None:
        """The embedded one, unless WEIR_REDIS_URL names another."""
        if self._variables.get("WEIR_REDIS_URL"):
            say_step("Redis", "as given by WEIR_REDIS_URL")
            return None
        socket = self.home.socket_path("redis.sock")
        url = f"unix://{socket}"
        child = self._start(redis.embedded(self.home, socket, self._variables))
        self._variables["WEIR_REDIS_URL"] = url
        self.home.record_redis(url)
        return child

    def prepare_spark(self) -> None:
        """A Connect server once a job needs it, unless SPARK_REMOTE or SPARK_MASTER says where Spark is.

        Raises :class:`webapp.supervisor.spark_connect.BadHeap`.
        """
        for given in ("SPARK_REMOTE", "SPARK_MASTER"):
            if self._variables.get(given):
                say_step("Spark", f"as given by {given}")
                return
        heap = spark_connect.heap(self._variables.get("WEIR_SPARK_HEAP", ""))
        variables = dict(self._variables)

        def start() -> StartedSpark:
            port, token = free_port(), secrets.token_urlsafe(32)
            child = self._start(spark_connect.embedded(self.home, port, token, heap, variables))
            # By this name, since the client sends a token without TLS to `localhost` only.
            return StartedSpark(child, f"sc://localhost:{port}", token)

        path = self.home.socket_path("spark.sock")
        self._demand = SparkDemand(path, start, self._stop)
        self._variables[spark_on_demand.VARIABLE] = str(path)
        self._variables["SPARK_REMOTE"] = "sc://localhost:0"  # a client learns the port when it asks
        say_step("Spark", "starts when it is needed")

    def start_demo(self) -> Child | None:
        """What plays the shipped recordings, unless it is off or was removed."""
        if not self.settings.demo or (self.home.root / "demo" / REMOVED).exists():
            return None
        return self._start(demo.playing(self.home, demo.ports_of(self.home), PROJECT_DIR, self._variables))

    def start_web(self) -> Child:
        self.home.folder("static")  # empty here, since the pages' files are served from the checkout; but it must be there
        return self._start(services.web(self.settings.bind, PROJECT_DIR, self._variables))

    def start_workers(self) -> None:
        for queue in services.QUEUES:
            self._start(services.worker(queue, PROJECT_DIR, self._variables, self._forks.start))
        self._start(services.beat(PROJECT_DIR, self._variables, self._forks.start))

    def wait_ready(self, name: str, child: Child | None) -> None:
        """Raises :class:`webapp.supervisor.child.NotReady` when it does not serve in time."""
        if child:
            say_step(name, "ready", child.wait_ready(self.stop))
        if self.stop.is_set():
            raise Stopped

    def run_step(self, module: str, log_name: str, is_shown: bool = True) -> list[str]:
        """Run one of our modules to its end and return its lines, printed as they come unless ``is_shown`` is off.

        Raises :class:`Stopped` and :class:`Failed`.
        """
        log = self.logs / f"{log_name}.log"
        lines: list[str] = []
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", module],
                env=self._variables,
                cwd=PROJECT_DIR,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            listener = threading.Thread(target=_listen, args=(process.stdout, lines, is_shown), daemon=True)
            listener.start()
            code = self._wait(process)
            # What it started may hold the pipe for longer than it lived.
            listener.join(1)
        if self.stop.is_set():
            raise Stopped
        if code:
            last = (log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise Failed(f"{module} failed (exit code {code}): {last}. Log: {log}")
        return lines

    def end(self) -> None:
        """Stop everything in bounded time: beat and workers and web first, then what they lean on."""
        self.stop.set()
        if self._demand:
            self._demand.close()
        front = [child for child in self.children if child.program.name not in ("redis", "spark")]
        back = [child for child in self.children if child not in front]
        for group in (front, back):
            for child in reversed(group):
                child.ask_to_stop()
            for child in reversed(group):
                child.stop()
        self._forks.close()
        self.home.forget_redis()
        # With its input closed the guard ends whatever is left, then itself.
        self._guard.communicate()

    def kill(self) -> None:
        """Do not wait for anybody."""
        for child in self.children:
            child.kill()

    def _start(self, program: Program) -> Child:
        child = Child(program, self.logs)
        self.children.append(child)
        child.start()
        return child

    def _stop(self, child: Child) -> None:
        child.stop()
        self.children.remove(child)

    def _start_guard(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "webapp.supervisor.guard", self._mark, str(LEFTOVERS_END_WITHIN_S)],
            cwd=PROJECT_DIR,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def _wait(self, process: subprocess.Popen[str]) -> int:
        """Its exit code; once stopping it has a few seconds to end by itself."""
        while process.poll() is None and not self.stop.wait(0.1):
            pass
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(STEP_ENDS_WITHIN_S)
            process.kill()
        return process.wait()


def _listen(output: IO[str], lines: list[str], is_shown: bool) -> None:
    for line in output:
        lines.append(line.rstrip("\n"))
        if is_shown:
            say(f"  {lines[-1]}")
