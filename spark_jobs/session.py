"""The Spark session of a job: ``SPARK_REMOTE`` (``sc://host:port``) opens a Connect session, else
``SPARK_MASTER`` a classic one, else ``local[*]``. A killed client's work goes on at a Connect
server, where the next attempt finds the session by its tag and interrupts it.
"""

import os
import socket
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import Refused
from ingest.privacy import hadoop_umask

DEFAULT_CONNECT_PORT = 15002
CONNECT_TIMEOUT_S = 10

SESSION_OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    # Spark's default since 4.0. With it, the size of a null array is null and not -1.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
    # A cycle reads up to some thousand files by name: a Spark job that lists them costs more.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "2000",
    # A vacuum removes files after a day, so a missing file is a bug and must raise an error.
    "spark.sql.files.ignoreMissingFiles": "false",
    # With a bound in bytes, Spark adds up all buffers of a batch for each row that it sends to
    # Python: half of the JVM's work for rows of jobs. Only this value turns the bound off. The bound
    # in rows allows rows of half a megabyte, as of a vertex of parallelism 5,000.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    # Parquet has no min/max statistics of the older type INT96.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}

SMALL_INPUT_OPTIONS = {
    # Compiling large plans to Java takes longer than running them interpreted over some thousand
    # rows (measured on a warm server: 22 s of CPU against 9 s with all of these).
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Only for small inputs: larger ones need compiled code and adaptive plans."""

COMPILE_ALL = "-XX:-DontCompileHugeMethods"
"""Without it, the JVM interprets large methods of wide plans, several times slower."""

CLASSIC_OPTIONS = {
    # A job of seconds needs no UI, and its port may be in use.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # 6 % less time than with G1, measured over raw logs on two cores.
    "spark.driver.extraJavaOptions": f"-XX:+UseParallelGC {COMPILE_ALL}",
    "spark.executor.extraJavaOptions": COMPILE_ALL,
    # Drivers of local and standalone sessions stay on loopback.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Recording the Python line of every column takes a third of the client's time.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Without this, a folder appears wherever the job was started.
    "spark.sql.catalogImplementation": "in-memory",
}

LOOKED_UP_OFTEN = (
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "PythonUtils",
    "PythonSQLUtils",
)
"""Names that PySpark looks up in the JVM for every column."""

_NAMESPACE = uuid.UUID("6f1c6f0e-9f0b-5e0e-8a5e-2f5b3a0d7c11")


def open_session(
    app_name: str, attempt: str | None = None, options: Mapping[str, str] | None = None
) -> SparkSession:
    """A session for an attempt, whose earlier process is interrupted. Environment:
    ``SPARK_REMOTE``, ``SPARK_MASTER``; for classic sessions ``WEIR_SPARK_DRIVER_MEMORY`` (default
    2g) and ``WEIR_SPARK_DRIVER_HOST``.
    """
    all_options = {**SESSION_OPTIONS, **(options or {})}
    remote = os.environ.get("SPARK_REMOTE", "")
    if remote:
        session = _connect(remote, app_name, attempt)
        configure(session, all_options)
    else:
        session = _classic(os.environ.get("SPARK_MASTER") or "local[*]", app_name, all_options)
    if attempt:
        session.addTag(operation_tag(attempt))
    return session


def configure(session: SparkSession, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        session.conf.set(name, value)


def operation_tag(attempt: str) -> str:
    """Without commas, which Spark refuses."""
    return attempt.replace(",", "_")


def interrupt_attempt(attempt: str) -> bool:
    """Stops an attempt on the Connect server; returns whether its session was found."""
    remote = os.environ.get("SPARK_REMOTE", "")
    if not remote:
        return False
    _refuse_silent(remote)
    with suppress(PySparkException):
        session = _session_of(remote, "weir-interrupt", attempt)
        session.interruptAll()
        session.stop()
        return True
    return False


@contextmanager
def session_of_attempt(app_name: str, attempt: str) -> Iterator[SparkSession]:
    """A session that is stopped after the block, or interrupted if the block raises."""
    session = open_session(app_name, attempt)
    try:
        yield session
    except BaseException:
        with suppress(Exception):
            session.interruptTag(operation_tag(attempt))
        raise
    finally:
        with suppress(Exception):
            session.stop()


def _refuse_silent(remote: str) -> None:
    """Spark's client would retry silently for minutes."""
    address = urlsplit(remote)
    try:
        socket.create_connection(
            (address.hostname or "", address.port or DEFAULT_CONNECT_PORT), CONNECT_TIMEOUT_S
        ).close()
    except OSError as error:
        place = f"{address.hostname}:{address.port or DEFAULT_CONNECT_PORT}"
        raise Refused(
            f"No Spark Connect server answers at {place} ({error}); start it, or unset "
            "SPARK_REMOTE."
        ) from error


def _connect(remote: str, app_name: str, attempt: str | None) -> SparkSession:
    _refuse_silent(remote)
    if attempt is not None:
        # The server may have closed that session, whose id cannot be used again.
        with suppress(PySparkException):
            session = _session_of(remote, app_name, attempt)
            session.interruptAll()
            return session
    return SparkSession.builder.remote(remote).appName(app_name).create()


def _session_of(remote: str, app_name: str, attempt: str) -> SparkSession:
    separator = ";" if "/;" in remote else "/;"
    session_id = uuid.uuid5(_NAMESPACE, attempt)
    builder = SparkSession.builder.remote(
        f"{remote}{separator}user_id=weir;session_id={session_id}"
    ).appName(app_name)
    try:
        return builder.create()
    except PySparkException:
        # The builder makes the session active before it contacts the server. A session that stays
        # active would give its settings to later ones.
        active = SparkSession.getActiveSession()
        if active is not None and getattr(active, "session_id", None) == str(session_id):
            active.stop()
        raise


def _classic(master: str, app_name: str, options: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.master(master).appName(app_name)
    host = os.environ.get("WEIR_SPARK_DRIVER_HOST", "")
    any_address = "0.0.0.0"  # noqa: S104 - executors on other machines connect to it
    addresses = {"spark.driver.host": host, "spark.driver.bindAddress": any_address} if host else {}
    memory = {"spark.driver.memory": os.environ.get("WEIR_SPARK_DRIVER_MEMORY", "2g")}
    classic = {**CLASSIC_OPTIONS, **hadoop_umask(os.environ), **memory, **addresses, **options}
    for name, value in classic.items():
        builder = builder.config(name, value)
    # Workers run this interpreter, not whatever `python3` is on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = builder.getOrCreate()
    _remember_classes(session)
    return session


def _remember_classes(session: SparkSession) -> None:
    """Else the JVM searches all jars for the class at each function call."""
    jvm: Any = session._jvm
    for name in LOOKED_UP_OFTEN:
        setattr(jvm, name, getattr(jvm, name))
