"""Memory settings that Weir advises, given to a real Flink: its own calculation of a TaskManager's
memory, and TaskManagers that start with it.
"""

import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.lab.cluster import TASKMANAGER_CLASS
from tests.lab.configuration import MODULE_OPTIONS
from tests.lab.jars import flink_jars
from tests.lab.releases import RELEASES
from tests.selections import mostly_long
from tests.webapp.resources.test_memory_settings import MIB, OWN, advised, day
from webapp.hosts.memory_budget import HEAP, MANAGED, METASPACE, NETWORK, OFF_HEAP, OVERHEAD
from webapp.hosts.process_memory import Refused, derived_sizes
from webapp.lib.flink_values import size_bytes

pytestmark = pytest.mark.integration

CALCULATION = Path(__file__).parent / "java" / "MemoryOfProcess.java"
MEMORY = "taskmanager.memory"
TASK_HEAP, NETWORK_MAX = f"{MEMORY}.task.heap.size", f"{MEMORY}.network.max"
METASPACE_SIZE, MANAGED_SIZE = f"{MEMORY}.jvm-metaspace.size", f"{MEMORY}.managed.size"
SMALL_HEAP = {TASK_HEAP: "256m", MANAGED_SIZE: "512m"}
CONFIGURATIONS = [
    OWN,
    {f"{MEMORY}.flink.size": "1600m", f"{MEMORY}.network.fraction": "0.2", METASPACE_SIZE: "400m"},
    {**SMALL_HEAP, TASK_HEAP: "768m", f"{MEMORY}.network.min": "160m", METASPACE_SIZE: "512m"},
]
HARMFUL = [
    {**OWN, NETWORK_MAX: "32m"},  # below network.min, which is 64 MiB where nothing is set
    {**SMALL_HEAP, TASK_HEAP: f"{256 - 268}m"},
    {**OWN, TASK_HEAP: "900m"},
]
Settings = Mapping[str, str]


class Derived(NamedTuple):
    sizes: dict[str, int]
    jvm_options: list[str]
    settings: list[str]


def calculated(version: str, folder: Path, wanted: Iterable[Settings]) -> list[Derived | None]:
    """What Flink derives from each; None where it says that no TaskManager starts with it."""
    lines = [" ".join(map("=".join, settings.items())) for settings in wanted]
    (folder / "configurations").write_text("\n".join(lines) + "\n")
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path(version), str(CALCULATION)]
    printed = subprocess.run(
        [*command, str(folder / "configurations")], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    answers = [line.split("\t") for line in printed if line.startswith(("derived", "refused"))]
    assert len(answers) == len(lines)
    return [derived(*answer[1:]) if answer[0] == "derived" else None for answer in answers]


def derived(total: str, jvm_options: str, settings: str) -> Derived:
    """``settings``: ``-D name=value`` of all that Flink gives a TaskManager."""
    texts = dict(one.split("=", 1) for one in settings.split() if "=" in one)
    known = {name: size_bytes(text, -1) for name, text in texts.items()}
    own = f"{MEMORY}.framework"
    sizes = {
        HEAP: known[f"{own}.heap.size"] + known[TASK_HEAP],
        OFF_HEAP: known[f"{own}.off-heap.size"] + known[f"{MEMORY}.task.off-heap.size"],
        NETWORK: known[NETWORK_MAX],
        MANAGED: known[MANAGED_SIZE],
        METASPACE: known[METASPACE_SIZE],
        OVERHEAD: known[f"{MEMORY}.jvm-overhead.max"],
    }
    assert sum(sizes.values()) == int(total)
    return Derived(sizes, jvm_options.split(), settings.split())


def class_path(version: str) -> str:
    return ":".join(map(str, sorted(flink_jars(RELEASES[version]).glob("*.jar"))))


def lowered(configuration: Settings, version: str) -> dict[str, str]:
    """All settings, with what is advised after a day that needs little of any part."""
    rows = day(
        sizes=derived_sizes(configuration, version),
        managed_memory_used_bytes=0,
        metaspace_used_bytes=60 * MIB,
    )
    lines, settings = advised(rows, configuration, version)
    for part in ("More heap", "More network", "Nothing reserves managed", "More metaspace"):
        assert any(line.startswith(part) for line in lines), (part, lines)
    return {**configuration, **settings}


@pytest.mark.parametrize("version", mostly_long(["1.20.5", "1.12.5", "2.3.0"]))
def test_flink_derives_what_weir_says_and_refuses_what_weir_never_advises(
    version: str, tmp_path: Path
) -> None:
    less = [lowered(configuration, version) for configuration in CONFIGURATIONS]
    full = {"metaspace_used_bytes": 250 * MIB}
    more = {**OWN, **advised(day(hours=1, **full), OWN, version)[1]}
    starting = [*CONFIGURATIONS, *less, SMALL_HEAP, lowered_heap(version), more]
    *accepted, no_network, negative_heap, large_heap = calculated(
        version, tmp_path, [*starting, *HARMFUL]
    )
    for settings, real in zip(starting, accepted, strict=True):
        assert real is not None, settings
        assert real.sizes == derived_sizes(settings, version)
    before, after = accepted[:3], accepted[3:6]
    for then, now in zip(after, before, strict=True):
        assert then and now
        for name in (HEAP, NETWORK, MANAGED, METASPACE):
            assert then.sizes[name] < now.sizes[name], name
        assert then.sizes[OVERHEAD] >= now.sizes[OVERHEAD]
    raised = accepted[-1]
    assert raised and before[0]
    assert raised.sizes[METASPACE] > 256 * MIB and raised.sizes[HEAP] >= before[0].sizes[HEAP]
    assert no_network is negative_heap is large_heap is None
    for settings in HARMFUL:
        with pytest.raises(Refused):
            derived_sizes(settings, version)


def lowered_heap(version: str) -> dict[str, str]:
    """Of a task heap of 256 MB of which little is used."""
    rows = day(sizes=derived_sizes(SMALL_HEAP, version), heap_used_bytes=80 * MIB)
    settings = {**SMALL_HEAP, **advised(rows, SMALL_HEAP, version)[1]}
    assert 0 < size_bytes(settings[TASK_HEAP], -1) < 256 * MIB
    return settings


@pytest.mark.long
def test_taskmanagers_start_with_the_memory_that_is_advised(tmp_path: Path) -> None:
    version = "1.20.5"
    wanted = [lowered(configuration, version) for configuration in CONFIGURATIONS]
    for number, real in enumerate(calculated(version, tmp_path, wanted)):
        assert real
        output = started(version, tmp_path / str(number), real)
        assert "Connecting to ResourceManager" in output, output[-2000:]


def started(version: str, folder: Path, real: Derived) -> str:
    """What a TaskManager logs until it looks for its JobManager, or ends."""
    folder.mkdir()
    (folder / "flink-conf.yaml").write_text(
        "jobmanager.rpc.address: 127.0.0.1\njobmanager.rpc.port: 9\n"
        f"taskmanager.host: 127.0.0.1\nio.tmp.dirs: {folder}\n"
    )
    (folder / "log4j.properties").write_text(
        "rootLogger.level = INFO\nrootLogger.appenderRef.out.ref = Out\n"
        "appender.out.name = Out\nappender.out.type = CONSOLE\n"
        "appender.out.layout.type = PatternLayout\nappender.out.layout.pattern = %m%n\n"
    )
    command = [
        *("java", *real.jvm_options, "-XX:+UseSerialGC", *MODULE_OPTIONS),
        f"-Dlog4j.configurationFile=file:{folder}/log4j.properties",
        *("-cp", class_path(version), TASKMANAGER_CLASS, "--configDir", str(folder)),
        *real.settings,
    ]
    log, lines = folder / "output", ""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None and "Connecting to ResourceManager" not in lines:
                time.sleep(0.2)
                lines = log.read_text()
        finally:
            process.kill()
            process.wait()
    return log.read_text()
