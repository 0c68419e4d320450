"""Spark in processes of its own: a standalone cluster and a Connect server, on loopback, always
stopped.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from spark_jobs import own_code

SPARK_HOME = Path(pyspark.__file__).parent
PROJECT = Path(__file__).parent.parent
PORTS = range(25000, 26000)
READY_WITHIN_S = 240
"""Generous: on a busy machine a JVM alone may take a minute."""
STOPS_WITHIN_S = 20


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """A master and workers of one core and 1 GiB each; yields its ``spark://`` URL."""
    port, web_port = free_port(), free_port(avoid=1)
    deploy = "org.apache.spark.deploy"
    with ExitStack() as running:
        master = [
            f"{deploy}.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            str(web_port),
        ]
        running.enter_context(spark_class("master", master, folder)).wait_for_text(
            "I have been elected leader"
        )
        for number in range(workers):
            worker = [
                f"{deploy}.worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
            ]
            name = f"worker-{number}"
            arguments = [*worker, "-d", str(folder / name), f"spark://127.0.0.1:{port}"]
            running.enter_context(spark_class(name, arguments, folder)).wait_for_text(
                "Successfully registered with master"
            )
        yield f"spark://127.0.0.1:{port}"


@contextmanager
def connect_server(
    folder: Path, master: str = "local[2]", stops_within_s: float = STOPS_WITHIN_S
) -> Iterator[str]:
    """A Spark Connect server with a heap of 1 GiB; yields its ``sc://`` URL."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        own_code.SETTING: own_code.digest(),
    }
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    server = [
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        master,
        *settings,
        "spark-internal",
    ]
    with spark_class(
        "connect", ["org.apache.spark.deploy.SparkSubmit", *server], folder, "1g", stops_within_s
    ) as process:
        process.wait_for_port(port)
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def spark_class(
    name: str,
    arguments: Sequence[str],
    folder: Path,
    daemon_heap: str = "256m",
    stops_within_s: float = STOPS_WITHIN_S,
) -> Iterator["SparkProcess"]:
    """Run one of Spark's main classes. It and all it started are stopped at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    environment = environment_without_spark() | {
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_DAEMON_MEMORY": daemon_heap,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(PROJECT),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            yield SparkProcess(process, log)
        finally:
            stop_group(process, stops_within_s)


def stop_group(process: "subprocess.Popen[bytes]", within_s: float = STOPS_WITHIN_S) -> None:
    """Ask the process and its children to stop, then make them."""
    for wish in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, wish)
        except ProcessLookupError:
            break
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def environment_without_spark(**more: str) -> dict[str, str]:
    """This environment without what would choose another Spark."""
    chosen = (
        "SPARK_REMOTE",
        "SPARK_MASTER",
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "SPARK_CONNECT_MODE_ENABLED",
        "PYSPARK_SUBMIT_ARGS",
    )
    return {name: value for name, value in os.environ.items() if name not in chosen} | more


def free_port(avoid: int = 0, ports: Sequence[int] = PORTS) -> int:
    """The first port on loopback that nobody listens on, ``avoid`` of them left out."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if avoid == 0:
            return port
        avoid -= 1
    raise RuntimeError(f"No port between {ports[0]} and {ports[-1]} is free.")


@dataclass(frozen=True)
class SparkProcess:
    """A running JVM and its log."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def wait_for_text(self, text: str) -> None:
        self._wait(lambda: text in self._told(), repr(text))

    def wait_for_port(self, port: int) -> None:
        def listens() -> bool:
            with socket.socket() as probe:
                probe.settimeout(1)
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self._wait(listens, f"port {port}")

    def _wait(self, is_ready: Callable[[], bool], what: str) -> None:
        give_up_at = time.monotonic() + READY_WITHIN_S
        while not is_ready():
            ended = self.process.poll() is not None
            if ended or time.monotonic() > give_up_at:
                state = "ended" if ended else f"took more than {READY_WITHIN_S} s"
                raise RuntimeError(
                    f"Waiting for {what}: the process {state}, {self.log} "
                    f"says:\n{self._told()[-2000:]}"
                )
            time.sleep(0.2)

    def _told(self) -> str:
        return self.log.read_text(errors="replace")


def run_cycle(
    lake: Path,
    run_dir: Path,
    attempt: str,
    environment: Mapping[str, str],
    *more: str,
    killed_after: str = "",
) -> "subprocess.Popen[str]":
    """Start one cycle of the pipeline as the web does: a client process that prints its progress."""
    return run_job("cycle", lake, run_dir, attempt, environment, *more, killed_after=killed_after)


KILLED_AFTER = """
import os, runpy, signal, sys

step, write = sys.argv.pop(1), sys.stdout.write

def write_and_die(text):
    write(text)
    if text.startswith(step):
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)

sys.stdout.write = write_and_die
runpy.run_module("spark_jobs", run_name="__main__", alter_sys=True)
"""


def run_job(
    job: str,
    lake: Path,
    run_dir: Path,
    attempt: str,
    environment: Mapping[str, str],
    *more: str,
    killed_after: str = "",
) -> "subprocess.Popen[str]":
    """Start a client process. It kills itself once it has printed a line that begins with
    ``killed_after``: who kills it from outside comes too late on a fast machine.
    """
    module = ["-c", KILLED_AFTER, killed_after] if killed_after else ["-m", "spark_jobs"]
    command = [
        sys.executable,
        *module,
        job,
        "--lake",
        str(lake),
        "--run-dir",
        str(run_dir),
        "--attempt",
        attempt,
        *more,
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=PROJECT,
        env=environment_without_spark(**environment),
    )
