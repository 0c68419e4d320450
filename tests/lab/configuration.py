"""The configuration of one lab cluster: settings, log layout and host names, all in its own
folder.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

from tests.lab.failing_store import BUCKET
from tests.lab.incidents import Incident
from tests.lab.releases import Release

TASKMANAGERS = 2
SLOTS_EACH = 4

# What Flink's own scripts pass to a JVM of version 17 or newer.
_EXPORTS = (
    "java.base/sun.net.util",
    "java.rmi/sun.rmi.registry",
    "java.security.jgss/sun.security.krb5",
)
_OPENS = (
    *(
        "java.lang",
        "java.lang.invoke",
        "java.lang.reflect",
        "java.io",
        "java.math",
        "java.net",
        "java.nio",
        "java.text",
    ),
    *(
        "java.time",
        "java.util",
        "java.util.concurrent",
        "java.util.concurrent.atomic",
        "java.util.concurrent.locks",
        "sun.nio.ch",
    ),
)
MODULE_OPTIONS = [f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORTS]
MODULE_OPTIONS += [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENS]

# Flink's default layout.
_LOG4J = """\
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = File
appender.file.name = File
appender.file.type = RollingFile
appender.file.fileName = ${sys:log.file}
appender.file.filePattern = ${sys:log.file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60c %x - %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 100MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 10
"""
# Beside it, what a container prints: JSON. Releases before 2 ship no JSON layout, so that it is
# made by a pattern.
_LOG4J_CONSOLE = """\
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
"""
_JSON_PATTERN = """\
appender.console.layout.type = PatternLayout
appender.console.layout.alwaysWriteExceptions = false
appender.console.layout.pattern = \
{"@timestamp":"%d{yyyy-MM-dd'T'HH:mm:ss.SSS}{UTC}Z","log.level":"%p","log.logger":"%c","process.thread.name":"%enc{%t}{JSON}",\
"message":"%enc{%m}{JSON}","error.stack_trace":"%enc{%ex}{JSON}"}%n
"""
_JSON_TEMPLATE = """\
appender.console.layout.type = JsonTemplateLayout
appender.console.layout.eventTemplateUri = classpath:EcsLayout.json
"""


_FLINK = "org.apache.flink"
_REPORTS = (("traces", "Trace", "traces"), ("events", "Event", "logs"))


@dataclass(frozen=True)
class Layout:
    """Where a cluster keeps its things and which ports it takes; slots let clusters stand side by
    side.
    """

    folder: Path
    slot: int

    @property
    def rest_port(self) -> int:
        return 28081 + 10 * self.slot

    @property
    def rpc_port(self) -> int:
        return 28082 + 10 * self.slot

    def data_ports(self, number: int) -> tuple[int, int]:
        """Of a TaskManager whose network is slow: the port it announces and the one it listens
        on.
        """
        return 28500 + 10 * self.slot + number, 28600 + 10 * self.slot + number

    @property
    def metrics_ports(self) -> dict[str, int]:
        """Process → where it answers Prometheus; ``jm2`` is the second JobManager of one in high
        availability.
        """
        return {
            name: 28700 + 10 * self.slot + number
            for number, name in enumerate(("jm", "tm1", "tm2", "jm2"))
        }

    @property
    def kafka(self) -> str:
        """Where its broker is."""
        return f"127.0.0.1:{28084 + 10 * self.slot}"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def pods(self) -> Path:
        """Where a container runtime would write what processes print."""
        return self.folder / "pods"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def savepoints(self) -> Path:
        return self.folder / "savepoints"

    @property
    def calls(self) -> Path:
        """Where processes write down their calls to the NameNode."""
        return self.folder / "calls"

    @property
    def blob_port(self) -> int:
        return 28083 + 10 * self.slot

    @property
    def otlp_port(self) -> int:
        """Where spans and events of its processes go."""
        return 28085 + 10 * self.slot

    @property
    def database(self) -> tuple[str, int]:
        return "127.0.0.1", 28084 + 10 * self.slot

    @property
    def jobmanager_seen_by_first(self) -> str:
        """Address of the JobManager as the first TaskManager sees it, where what it fetches from
        there is slow.
        """
        return f"127.0.{110 + self.slot}.1"

    def hosts(self, process: str) -> Path:
        return self.folder / f"hosts-{process}"

    def configuration(self, process: str) -> Path:
        return self.folder / f"conf-{process}"

    def taskmanager_host(self, number: int) -> tuple[str, str]:
        """Name and address: each TaskManager has its own, so that records cross the network
        stack.
        """
        return f"flink-tm-{number}", f"127.0.{100 + self.slot}.{number}"


def write_configuration(layout: Layout, release: Release, incident: Incident) -> None:
    for folder in (layout.logs, layout.checkpoints, layout.savepoints):
        folder.mkdir(parents=True, exist_ok=True)
    hosts = ["127.0.0.1 localhost", f"127.0.0.1 {platform.node()}"]
    settings = _settings(layout, release) | incident.settings
    if incident.storage_bytes_per_s is not None:
        settings |= {
            "state.checkpoints.dir": f"slow://{layout.checkpoints}",
            "state.savepoints.dir": f"slow://{layout.savepoints}",
            "lab.storage.bytes-per-s": str(incident.storage_bytes_per_s),
        }
    if incident.store_fault is not None:
        host, port = layout.database
        settings |= {
            "state.checkpoints.dir": f"s3a://{BUCKET}/flink/ck",
            "state.savepoints.dir": f"s3a://{BUCKET}/flink/sp",
            "flink.hadoop.fs.s3a.endpoint": f"http://{host}:{port}",
        }
    if incident.counts_calls:
        layout.calls.mkdir(exist_ok=True)
        settings |= {
            "state.checkpoints.dir": f"hdfs://lab{layout.checkpoints}",
            "state.savepoints.dir": f"hdfs://lab{layout.savepoints}",
        }
        hadoop = {"fs.hdfs.impl": "lab.CountedHdfs", "lab.calls": layout.calls}
        properties = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in hadoop.items()
        )
        (layout.calls / "core-site.xml").write_text(
            f"<configuration>{properties}</configuration>\n"
        )
    logging = _LOG4J + (_console(release) if incident.prints_json else "") + _debugs(incident)
    if incident.jar_bytes_per_s is not None:
        settings |= {"blob.server.port": str(layout.blob_port)}
    _write(
        layout.configuration("jm"), release, settings | _reporter(layout, incident, "jm"), logging
    )
    for number in range(1, TASKMANAGERS + 1):
        host, address = layout.taskmanager_host(number)
        hosts.append(f"{address} {host}")
        own = {
            "taskmanager.host": host,
            "taskmanager.bind-host": address,
            "io.tmp.dirs": str(layout.folder / f"tmp-tm{number}"),
            # RocksDB names its log after the whole path of its directory. Below the former, that of
            # a state that is being rescaled is longer than the 255 characters of a file name: no
            # subtask can restore it.
            "state.backend.rocksdb.localdir": str(layout.folder / f"db{number}"),
        }
        if incident.network_bytes_per_s is not None:
            announced, listening = layout.data_ports(number)
            own |= {
                "taskmanager.data.port": str(announced),
                "taskmanager.data.bind-port": str(listening),
            }
        _write(
            layout.configuration(f"tm{number}"),
            release,
            settings | own | _reporter(layout, incident, f"tm{number}"),
            logging,
        )
    layout.hosts("jm").write_text("\n".join(["127.0.0.1 flink-jm", *hosts]) + "\n")
    for number in range(1, TASKMANAGERS + 1):
        jobmanager = (
            layout.jobmanager_seen_by_first
            if incident.jar_bytes_per_s is not None and number == 1
            else "127.0.0.1"
        )
        layout.hosts(f"tm{number}").write_text("\n".join([f"{jobmanager} flink-jm", *hosts]) + "\n")


def _reporter(layout: Layout, incident: Incident, process: str) -> dict[str, str]:
    settings = {}
    if incident.reports_metrics:
        settings |= {
            "metrics.reporter.prom.factory.class": f"{_FLINK}.metrics.prometheus.PrometheusReporterFactory",
            "metrics.reporter.prom.port": str(layout.metrics_ports[process]),
        }
    for kind, name, path in _REPORTS if incident.pushes_reports else ():
        reporter = f"{kind}.reporter.otel"
        settings |= {
            f"{reporter}.factory.class": f"{_FLINK}.{kind}.otel.OpenTelemetry{name}ReporterFactory",
            f"{reporter}.exporter.protocol": "HTTP",
            f"{reporter}.exporter.endpoint": f"http://127.0.0.1:{layout.otlp_port}/v1/{path}",
        }
    return settings


def _console(release: Release) -> str:
    return _LOG4J_CONSOLE + (_JSON_TEMPLATE if release.has_json_layouts else _JSON_PATTERN)


def _debugs(incident: Incident) -> str:
    return "".join(
        f"logger.debug{number}.name = {name}\nlogger.debug{number}.level = DEBUG\n"
        for number, name in enumerate(incident.debugs)
    )


def _write(folder: Path, release: Release, settings: dict[str, str], logging: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{release.renamed.get(name, name)}: {value}" for name, value in settings.items()]
    (folder / release.conf_file).write_text("\n".join(lines) + "\n")
    (folder / "log4j.properties").write_text(logging)


def _settings(layout: Layout, release: Release) -> dict[str, str]:
    spread_name, spread_value = release.spread_out
    return {
        "jobmanager.rpc.address": "flink-jm",
        "jobmanager.rpc.port": str(layout.rpc_port),
        "jobmanager.bind-host": "127.0.0.1",
        "jobmanager.memory.process.size": "1024m",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": str(layout.rest_port),
        "rest.bind-port": str(layout.rest_port),
        "web.upload.dir": str(layout.folder / "upload"),
        "taskmanager.numberOfTaskSlots": str(SLOTS_EACH),
        "taskmanager.cpu.cores": "1.0",
        "taskmanager.memory.framework.heap.size": "96m",
        "taskmanager.memory.task.heap.size": "160m",
        "taskmanager.memory.managed.size": "128m",
        "taskmanager.memory.framework.off-heap.size": "64m",
        "taskmanager.memory.task.off-heap.size": "16m",
        "taskmanager.memory.network.min": "32m",
        "taskmanager.memory.network.max": "32m",
        "taskmanager.memory.jvm-metaspace.size": "128m",
        "taskmanager.memory.jvm-overhead.min": "64m",
        "taskmanager.memory.jvm-overhead.max": "64m",
        spread_name: spread_value,
        "heartbeat.interval": "3000",
        "heartbeat.timeout": "15000",
        "metrics.fetcher.update-interval": "2000",
        "state.backend": "rocksdb",
        "state.backend.incremental": "true",
        "state.checkpoints.dir": f"file://{layout.checkpoints}",
        "state.savepoints.dir": f"file://{layout.savepoints}",
        "state.checkpoints.num-retained": "3",
        "execution.checkpointing.interval": "2s",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
        "restart-strategy": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "2s",
    }
