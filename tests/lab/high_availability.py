"""A real Flink in high availability on loopback: Debian's ZooKeeper, two JobManagers, TaskManagers
and the job of an incident.
"""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from tests.lab.cluster import Lab, LabFailed
from tests.lab.configuration import TASKMANAGERS, write_configuration
from tests.lab.rest import call_or_none
from webapp.launch.home import free_port

_JAVA = Path("/usr/share/java")
_JARS = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-nop",
    "netty-all",
    "snappy-java",
    "metrics-core",
    "commons-io",
)
IS_INSTALLED = all((_JAVA / f"{name}.jar").exists() for name in _JARS)
"""By ``apt-get install libzookeeper-java``."""

STANDBY = 1_000
"""Between the ports of the two JobManagers."""


def settings_for(ensemble: str, folder: Path) -> dict[str, str]:
    return {
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": ensemble,
        "high-availability.zookeeper.client.session-timeout": "4000",
        "high-availability.cluster-id": "/orders",
        "high-availability.storageDir": f"file://{folder}/ha",
    }


@contextlib.contextmanager
def zookeeper(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server alone; gives its process."""
    folder.mkdir(parents=True)
    settings = {
        "tickTime": 500,
        "dataDir": folder,
        "clientPort": port,
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
    }
    (folder / "zoo.cfg").write_text(
        "".join(f"{name}={value}\n" for name, value in settings.items())
    )
    path = ":".join(str(_JAVA / f"{name}.jar") for name in _JARS)
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    server = subprocess.Popen(["java", "-Xmx64m", "-cp", path, main, str(folder / "zoo.cfg")])
    try:
        deadline = time.monotonic() + 30
        while not _serves(f"127.0.0.1:{port}"):
            if server.poll() is not None or time.monotonic() > deadline:
                raise LabFailed("ZooKeeper did not come up.")
            time.sleep(0.2)
        yield server
    finally:
        server.terminate()
        server.wait()


class HighlyAvailableLab(Lab):
    """``url`` is that of the JobManager that stood first; either may lead."""

    def __init__(
        self,
        version: str,
        incident: str,
        slot: int,
        folder: Path,
        ensemble: str,
        *,
        as_fleet: bool = False,
    ) -> None:
        super().__init__(version, incident, slot, folder, as_fleet=as_fleet)
        settings = self.incident.settings | settings_for(ensemble, folder)
        self.incident = replace(self.incident, settings=settings)
        write_configuration(self.layout, self.release, self.incident)
        port = self.layout.rest_port
        known = (self.layout.configuration("jm") / self.release.conf_file).read_text()
        second = self.layout.configuration("jm2")
        second.mkdir()
        known = known.replace(f"port: {port}\n", f"port: {port + STANDBY}\n")
        metrics = self.layout.metrics_ports
        (second / self.release.conf_file).write_text(
            known.replace(f"port: {metrics['jm']}\n", f"port: {metrics['jm2']}\n")
        )
        (second / "log4j.properties").write_text(
            (self.layout.configuration("jm") / "log4j.properties").read_text()
        )

    @property
    def urls(self) -> dict[str, str]:
        """Of each JobManager."""
        return {"jm": self.url, "jm2": f"http://127.0.0.1:{self.layout.rest_port + STANDBY}"}

    def start_processes(self) -> None:
        super().start_processes()
        self._start_session("jm2", "standalonesession-1-flink-jm")

    def kill_leader(self, url: str) -> str:
        """The JobManager at this address; returns the address of the other."""
        leader = next(name for name, own in self.urls.items() if own == url)
        self._kill(leader)
        return next(own for name, own in self.urls.items() if name != leader)

    def answers(self, url: str) -> bool:
        return call_or_none(f"{url}/overview") is not None


@contextlib.contextmanager
def start(
    folder: Path,
    version: str = "1.20.5",
    incident: str = "healthy",
    slot: int = 9,
    *,
    as_fleet: bool = False,
    taskmanagers: int = TASKMANAGERS,
) -> Iterator[tuple[HighlyAvailableLab, str]]:
    """Up, its job submitted; gives the lab and ZooKeeper's host and port."""
    port = free_port()
    ensemble = f"127.0.0.1:{port}"
    flink = HighlyAvailableLab(
        version, incident, slot, folder / "flink", ensemble, as_fleet=as_fleet
    )
    flink.taskmanagers = taskmanagers
    with flink as lab, zookeeper(folder / "zookeeper", port):
        lab.start_processes()
        lab.wait_up()
        lab.submit()
        yield lab, ensemble


def _serves(ensemble: str) -> bool:
    """It listens before it takes sessions."""
    client = KazooClient(ensemble, timeout=2)
    try:
        client.start(timeout=2)
    except KazooTimeoutError:
        return False
    finally:
        client.stop()
        client.close()
    return True
