"""``python -m tests.lab.outages OUTAGE FOLDER``: play how processes of a real Flink die, and keep
what they logged.

No REST API answers meanwhile, so logs are all there is. Writes ``FOLDER/<version>/<outage>/``:
``logs/`` and ``played.json``. Needs ZooKeeper: see ``high_availability``.
"""

import argparse
import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tests.lab.cluster import Lab, started
from tests.lab.configuration import write_configuration
from tests.lab.dying_pods import OUT_OF_MEMORY, DyingPods
from tests.lab.high_availability import HighlyAvailableLab, settings_for, zookeeper
from tests.lab.jars import ENTRY_CLASS, lab_home
from tests.lab.recording import pack
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from webapp.launch.home import free_port

SLOT = 7
KUBERNETES_CLASS = "org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint"
APPLICATION_CLASS = "org.apache.flink.container.entrypoint.StandaloneApplicationClusterEntryPoint"
OUTAGES: dict[str, Callable[[str, Path], Path]] = {}


def outage(play: Callable[[str, Path], Path]) -> Callable[[str, Path], Path]:
    """Its docstring says what is played; it returns the folder of the logs."""
    OUTAGES[play.__name__.replace("_", "-")] = play
    return play


class RestartedLab(HighlyAvailableLab):
    """One JobManager, which is started again whenever it ended, as Kubernetes does."""

    def start_processes(self) -> None:
        Lab.start_processes(self)

    def goes_on(self) -> None:
        """Wait until its job completes checkpoints."""
        self.wait_up()
        self.wait_for(lambda account: account["counts"]["completed"] >= 2)


@contextlib.contextmanager
def restarted(version: str, folder: Path) -> Iterator[tuple[RestartedLab, subprocess.Popen[bytes]]]:
    """With the process of its ZooKeeper."""
    port = free_port()
    lab = RestartedLab(version, "healthy", SLOT, folder / "flink", f"127.0.0.1:{port}")
    lab.taskmanagers = 1
    with lab, zookeeper(folder / "zookeeper", port) as server:
        lab.start_processes()
        lab.wait_up()
        lab.submit()
        lab.goes_on()
        yield lab, server


@outage
def killed_jobmanager(version: str, folder: Path) -> Path:
    """the JobManager is killed three times, a minute apart, and started again after 5 s"""
    with restarted(version, folder) as (lab, _server):
        for _ in range(3):
            time.sleep(45)
            lab.kill_jobmanager()
            time.sleep(5)
            lab.start_jobmanager()
            lab.goes_on()
        time.sleep(10)
    return lab.layout.logs


@outage
def lost_handle(version: str, folder: Path) -> Path:
    """files of the high-availability storage are deleted, and the JobManager is killed once: each
    time that it is started again it ends by itself"""
    with restarted(version, folder) as (lab, _server):
        lab.kill_jobmanager()
        for path in (folder / "flink" / "ha").rglob("completedCheckpoint*"):
            path.unlink()
        for _ in range(3):
            time.sleep(10)
            lab.start_jobmanager()
            lab.ended("jm")
    return lab.layout.logs


@outage
def revoked_leader(version: str, folder: Path) -> Path:
    """ZooKeeper stands still for 15 s, three times: the JobManager lives, and loses the lead"""
    with restarted(version, folder) as (lab, server):
        for _ in range(3):
            server.send_signal(signal.SIGSTOP)
            time.sleep(15)
            server.send_signal(signal.SIGCONT)
            time.sleep(20)
            lab.goes_on()
    return lab.layout.logs


class ApplicationLab(Lab):
    """Its JobManager runs the program itself, in application mode."""

    taskmanagers = 1

    def start_jobmanager(self) -> None:
        program = [
            "--job-classname",
            ENTRY_CLASS,
            *self._program_arguments(self.incident.arguments),
        ]
        self._java("jm", "standalonejob-0-flink-jm", 448, [APPLICATION_CLASS], program)

    def run_to_end(self, times: int) -> None:
        """Start its JobManager so often, which ends by itself each time."""
        self.start_processes()
        self.ended("jm")
        for _ in range(times - 1):
            time.sleep(5)
            self.start_jobmanager()
            self.ended("jm")


def application(
    version: str, folder: Path, settings: dict[str, str], **arguments: str
) -> ApplicationLab:
    lab = ApplicationLab(version, "healthy", SLOT, folder / "flink")
    arguments = {"name": "orders", "rate": "200", **arguments}
    lab.incident = replace(lab.incident, arguments=arguments, settings=settings)
    write_configuration(lab.layout, lab.release, lab.incident)
    return lab


@outage
def main_throws(version: str, folder: Path) -> Path:
    """application mode: main() throws before it has submitted a job, at each of three starts"""
    with application(version, folder, {}, rate="many") as lab:
        lab.run_to_end(3)
    return lab.layout.logs


@outage
def main_runs(version: str, folder: Path) -> Path:
    """application mode: the same program with arguments that it can read"""
    with application(version, folder, {}) as lab:
        lab.start_processes()
        lab.wait_up()
        time.sleep(45)
    return lab.layout.logs


def run_twice(version: str, folder: Path, **arguments: str) -> Path:
    """Application mode in high availability, where the results of jobs are kept."""
    port = free_port()
    settings = {
        **settings_for(f"127.0.0.1:{port}", folder),
        "job-result-store.delete-on-commit": "false",
        "restart-strategy": "none",
    }
    lab = application(version, folder, settings, **arguments)
    with lab, zookeeper(folder / "zookeeper", port):
        lab.run_to_end(2)
    return lab.layout.logs


@outage
def failed_before(version: str, folder: Path) -> Path:
    """application mode in high availability, results of jobs are kept: the job fails for good, and
    its JobManager is started again"""
    return run_twice(version, folder, **{"fail-every-s": "10"})


@outage
def finished_before(version: str, folder: Path) -> Path:
    """the same with a job that has come to its end"""
    return run_twice(version, folder, limit="3000")


@outage
def dying_taskmanagers(version: str, folder: Path) -> Path:
    """a job waits for slots; four TaskManagers are started, one after the other, whose directory
    for files is a file: each ends before it registers"""
    lab = Lab(version, "healthy", SLOT, folder / "flink")
    lab.taskmanagers = 0
    lab.layout.folder.mkdir(parents=True)
    (lab.layout.folder / "tmp-tm1").touch()
    with started(lab):
        for _ in range(4):
            lab.start_taskmanager(1)
            lab.ended("tm1")
            time.sleep(10)
    return lab.layout.logs


@outage
def unregistered_taskmanager(version: str, folder: Path) -> Path:
    """a job runs; a second TaskManager looks for its JobManager at a port where nothing listens,
    and gives up after 20 s"""
    lab = Lab(version, "healthy", SLOT, folder / "flink")
    lab.taskmanagers = 1
    with started(lab):
        file = lab.layout.configuration("tm2") / lab.release.conf_file
        elsewhere = file.read_text().replace(str(lab.layout.rpc_port), str(free_port()))
        file.write_text(f"{elsewhere}taskmanager.registration.timeout: 20s\n")
        lab.wait_for(lambda account: account["counts"]["completed"] >= 1)
        lab.start_taskmanager(2)
        lab.ended("tm2")
        time.sleep(20)
    return lab.layout.logs


class KubernetesLab(Lab):
    """Its ResourceManager asks Kubernetes for TaskManagers."""

    taskmanagers = 0

    def start_jobmanager(self) -> None:
        self._java("jm", "kubernetes-session-0-flink-jm", 448, [KUBERNETES_CLASS], [])


def on_kubernetes(
    version: str, folder: Path, ends: dict[str, object] | None, *, is_scheduled: bool = True
) -> Path:
    lab = KubernetesLab(version, "healthy", SLOT, folder / "flink")
    pods = DyingPods(ends, is_scheduled=is_scheduled)
    folder.mkdir(parents=True)
    settings = {
        "kubernetes.cluster-id": "orders",
        "kubernetes.config.file": str(pods.configuration(folder)),
        "taskmanager.rpc.port": "6122",
    }
    lab.incident = replace(lab.incident, settings=settings)
    with contextlib.closing(pods), started(lab):
        time.sleep(60)
    return lab.layout.logs


@outage
def dying_pods(version: str, folder: Path) -> Path:
    """a job waits for slots; Flink asks the lab's Kubernetes for TaskManagers, and each pod is
    killed for its memory after 4 s"""
    return on_kubernetes(version, folder, OUT_OF_MEMORY)


@outage
def unscheduled_pods(version: str, folder: Path) -> Path:
    """the same, and no pod has found a node before it ends"""
    return on_kubernetes(version, folder, OUT_OF_MEMORY, is_scheduled=False)


@outage
def refused_pods(version: str, folder: Path) -> Path:
    """a job waits for slots; the lab's Kubernetes refuses each TaskManager for its quota"""
    return on_kubernetes(version, folder, None)


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    kept: Path = options.folder / options.version / options.outage
    scratch = lab_home() / "run" / f"{options.version}-{options.outage}"
    for path in (kept, scratch):
        shutil.rmtree(path, ignore_errors=True)
    play = OUTAGES[options.outage]
    logs = play(options.version, scratch)
    shutil.copytree(logs, kept / "logs", ignore=shutil.ignore_patterns("*.out"))
    for path in (kept / "logs").iterdir():
        pack(path)
    how = {"version": options.version, "shows": " ".join((play.__doc__ or "").split())}
    (kept / "played.json").write_text(json.dumps(how, indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.outages", description=__doc__)
    parser.add_argument("outage", choices=sorted(OUTAGES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
