"""A real HDFS on loopback for as long as its ``with`` block: one NameNode and one DataNode of
Hadoop 2.7.3, empty at first.

PyPI has them in the source distribution of PySpark 2.4.8; ``HADOOP_SERVER_JARS`` names the folder
with its jars. What they lack for WebHDFS, Jersey 1, is Debian's (``libjersey1-servlet-java``);
without it WebHDFS is off. Hadoop's own shell is the client in the jars of the PySpark that is
installed.

::

    python3 -m venv /tmp/hadoop && /tmp/hadoop/bin/pip install setuptools wheel
    /tmp/hadoop/bin/pip download --no-deps --no-build-isolation pyspark==2.4.8 -d /tmp/hadoop
    tar -xzf /tmp/hadoop/pyspark-2.4.8.tar.gz -C /tmp/hadoop pyspark-2.4.8/deps/jars
    apt-get install -y libjersey1-servlet-java libasm-java
    HADOOP_SERVER_JARS=/tmp/hadoop/pyspark-2.4.8/deps/jars make integration PYTEST='-k namenode'

``HADOOP_JERSEY_JARS`` names the folder of Jersey's jars where it is not ``/usr/share/java``.
"""

import contextlib
import getpass
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

import pyspark

from tests.lab.configuration import MODULE_OPTIONS
from tests.lab.jars import HADOOP_JARS
from tests.lab.marked_processes import VARIABLE
from tests.lab.rest import call_or_none
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import free_port

SERVER_JARS = os.environ.get("HADOOP_SERVER_JARS", "")
_JERSEY = ("jersey1-core", "jersey1-server", "jersey1-servlet", "jsr311-api", "asm-all")
JERSEY_JARS = [
    Path(os.environ.get("HADOOP_JERSEY_JARS", "/usr/share/java")) / f"{name}.jar"
    for name in _JERSEY
]
HAS_WEBHDFS = all(jar.exists() for jar in JERSEY_JARS)
UP_WITHIN_S, ANSWERS_WITHIN_S, ENDS_WITHIN_S = 120, 120, 20
MANY_CALLS = Path(__file__).parent / "src" / "hdfs" / "ManyCalls.java"
_SPARK_JARS = Path(pyspark.__file__).parent / "jars"
_CLIENT_JARS = (*HADOOP_JARS, *_SPARK_JARS.glob("slf4j-api-*.jar"))
_JAVA = ("java", "-Xmx256m", "-XX:+UseSerialGC", "-Duser.timezone=UTC")
_KERBEROS = "java.security.jgss/sun.security.krb5=ALL-UNNAMED"
"""Hadoop of that age looks into it for the default realm, on a JVM that hides it."""
_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_ADMIN, _SHELL = "org.apache.hadoop.hdfs.tools.DFSAdmin", "org.apache.hadoop.fs.FsShell"
_IMAGE_VIEWER = "org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB"
_LOG4J = """\
log4j.rootLogger=INFO,out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
"""
_WEB_XML = (
    '<?xml version="1.0"?><web-app version="2.4" xmlns="http://java.sun.com/xml/ns/j2ee"></web-app>'
)


class HdfsFailed(Exception):
    """A process of it did not do what it was asked; the message says where it wrote why."""


class Hdfs:
    """``handlers``: how many calls its NameNode works on at a time.

    Ends when this process dies, too.
    """

    def __init__(self, folder: Path, handlers: int = 10) -> None:
        self.folder, self._conf = folder, folder / "conf"
        self._rpc, self._http = free_port(), free_port()
        self._mark = secrets.token_hex(16)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._write_configuration(handlers)

    @property
    def uri(self) -> str:
        return f"hdfs://127.0.0.1:{self._rpc}"

    @property
    def url(self) -> str:
        """Where its ``/jmx`` is."""
        return f"http://127.0.0.1:{self._http}"

    @property
    def webhdfs(self) -> str:
        return f"webhdfs://127.0.0.1:{self._http}"

    @property
    def user(self) -> str:
        """Who started it, and so may do everything in it."""
        return getpass.getuser()

    def calls_queued(self) -> int:
        """Now, by its own account."""
        return int(self._bean("RpcActivityForPort*").get("CallQueueLength", 0))

    def shell(self, *arguments: str) -> str:
        """What ``hdfs dfs`` prints, run by the client of PySpark."""
        return self._run("shell", self._client([_SHELL, *arguments]))

    def image(self, to: Path) -> None:
        """Save its namespace and write it down as ``hdfs oiv -p Delimited`` does.

        It takes no writes afterwards.
        """
        self._run("admin", self._server([_ADMIN, "-safemode", "enter"]))
        self._run("admin", self._server([_ADMIN, "-saveNamespace"]))
        newest = max(
            path for path in (self.folder / "name" / "current").glob("fsimage_*") if not path.suffix
        )
        self._run(
            "image",
            self._server([_IMAGE_VIEWER, "-p", "Delimited", "-i", str(newest), "-o", str(to)]),
        )

    def called_by(self, clients: int, seconds: int) -> subprocess.Popen[bytes]:
        """So many clients at once that do not let up.

        Prints in the end how many calls they made and how many ms the slowest took.
        """
        return self._start(
            self._client([str(MANY_CALLS), self.uri, str(clients), str(seconds)]),
            "calls",
            subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        guard = [sys.executable, "-m", "tests.lab.guard", self._mark, "5"]
        self._guard = subprocess.Popen(
            guard, cwd=PROJECT_DIR, stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self._run("format", self._server([_NAMENODE, "-format", "-force"]))
            for name, main in (("namenode", _NAMENODE), ("datanode", _DATANODE)):
                self._processes.append(self._start(self._server([main]), name))
            self._wait_up()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_failure: object) -> None:
        self._stop()

    def _stop(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN_S)
        self._guard.communicate()
        for process in self._processes:
            process.wait()

    def _wait_up(self) -> None:
        deadline = time.monotonic() + UP_WITHIN_S
        while not self._takes_files():
            if time.monotonic() > deadline or any(
                process.poll() is not None for process in self._processes
            ):
                raise HdfsFailed(
                    f"HDFS did not come up: see {self.folder}/namenode.log and datanode.log"
                )
            time.sleep(0.3)

    def _takes_files(self) -> bool:
        state = self._bean("FSNamesystemState")
        return state.get("NumLiveDataNodes") == 1 and state.get("FSState") == "Operational"

    def _bean(self, name: str) -> dict[str, Any]:
        answer = call_or_none(f"{self.url}/jmx?qry=Hadoop:service=NameNode,name={name}") or {}
        return next(iter(answer.get("beans") or ()), {})

    def _write_configuration(self, handlers: int) -> None:
        for page in ("hdfs", "datanode"):
            (self._conf / "webapps" / page / "WEB-INF").mkdir(parents=True)
            (self._conf / "webapps" / page / "WEB-INF" / "web.xml").write_text(_WEB_XML)
        (self._conf / "log4j.properties").write_text(_LOG4J)
        # Averages of JMX are those of the last interval.
        (self._conf / "hadoop-metrics2.properties").write_text("*.period=1\n")
        (self._conf / "core-site.xml").write_text(_site({"fs.defaultFS": self.uri}))
        (self._conf / "hdfs-site.xml").write_text(
            _site(
                {
                    "dfs.namenode.name.dir": f"file://{self.folder}/name",
                    "dfs.datanode.data.dir": f"file://{self.folder}/data",
                    "dfs.namenode.http-address": f"127.0.0.1:{self._http}",
                    **{
                        f"dfs.datanode.{of}address": f"127.0.0.1:{free_port()}"
                        for of in ("", "ipc.", "http.")
                    },
                    "dfs.namenode.handler.count": handlers,
                    # As many clients as wait shall do so in the queue, not before it.
                    "ipc.server.handler.queue.size": 2_000,
                    "dfs.namenode.safemode.extension": 0,
                    "dfs.replication": 1,
                    "dfs.webhdfs.enabled": str(HAS_WEBHDFS).lower(),
                }
            )
        )

    def _server(self, main_and_arguments: list[str]) -> list[str]:
        # Before the newer API of the same package names that Spark brings.
        jersey = map(str, JERSEY_JARS) if HAS_WEBHDFS else ()
        kerberos = (f"--add-opens={_KERBEROS}", f"--add-exports={_KERBEROS}")
        return [
            *_JAVA,
            *MODULE_OPTIONS,
            *kerberos,
            "-cp",
            ":".join((str(self._conf), *jersey, f"{SERVER_JARS}/*")),
            *main_and_arguments,
        ]

    def _client(self, main_and_arguments: list[str]) -> list[str]:
        return [
            *_JAVA,
            "-cp",
            ":".join((str(self._conf), *map(str, _CLIENT_JARS))),
            *main_and_arguments,
        ]

    def _run(self, name: str, command: list[str]) -> str:
        process = self._start(command, name, subprocess.PIPE)
        try:
            printed, _ = process.communicate(timeout=ANSWERS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if process.returncode != 0:
            raise HdfsFailed(
                f"{' '.join(command[-4:])} ended with {process.returncode}: see "
                f"{self.folder}/{name}.log"
            )
        return printed.decode()

    def _start(
        self, command: list[str], name: str, stdout: int | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            output: int | IO[Any] = log if stdout is None else stdout
            environment = {**os.environ, VARIABLE: self._mark}
            return subprocess.Popen(
                command,
                env=environment,
                cwd=self.folder,
                stdout=output,
                stderr=log,
                start_new_session=True,
            )


def _site(properties: Mapping[str, object]) -> str:
    lines = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{''.join(lines)}</configuration>\n"
