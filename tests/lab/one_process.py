"""A real Flink in one JVM, for what none of its processes has to be lost, slow to reach or logged
by itself: half the CPU of three.
"""

from pathlib import Path

from tests.lab.cluster import Lab, started

_CLASS = "lab.OneProcess"
_HEAP_MB = 640
_LIMITS = ("-XX:MaxDirectMemorySize=256m", "-XX:MaxMetaspaceSize=256m")


class OneProcessLab(Lab):
    """Its JobManager and TaskManagers are threads of one process."""

    def start_processes(self) -> None:
        self._java(
            "jm", "minicluster-0-flink-jm", _HEAP_MB, [*_LIMITS, _CLASS], [str(self.taskmanagers)]
        )


def start(version: str, incident: str, slot: int, folder: Path) -> Lab:
    """As :func:`tests.lab.cluster.start`, in one JVM."""
    return started(OneProcessLab(version, incident, slot, folder))
