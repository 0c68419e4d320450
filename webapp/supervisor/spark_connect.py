"""The embedded Spark: one Spark Connect server on loopback, kept while it is needed, so that few cycles pay for a JVM start."""

import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from ingest import privacy
from spark_jobs import own_code
from webapp.supervisor.child import Program
from webapp.supervisor.home import Home
from webapp.supervisor.ports import listens

SMALLEST_HEAP_MB, LARGEST_HEAP_MB = 1024, 8192
_HEAP = re.compile(r"\d+[mg]")


class BadHeap(Exception):
    """WEIR_SPARK_HEAP makes no sense; the message says what would."""


def heap(given: str) -> str:
    """The heap as the JVM wants it: as given (``3g``, ``1500m``), or a quarter of the memory, 1 to 8 GiB."""
    if given:
        if not _HEAP.fullmatch(given):
            raise BadHeap(f"The environment variable WEIR_SPARK_HEAP is {given!r}, but must be a size such as 3g or 1500m.")
        return given
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return f"{min(LARGEST_HEAP_MB, max(SMALLEST_HEAP_MB, memory_mb // 4))}m"


def spark_home() -> Path:
    """Where the pip package keeps Spark; looked up, since the web never imports pyspark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("pyspark is not installed in this environment: run `make install`.")
    return Path(found.origin).parent


def embedded(home: Home, port: int, token: str, heap: str, environment: Mapping[str, str]) -> Program:
    folder = home.folder("spark")
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(home.folder("spark", "local")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Spark turns a wide plan into one large method, which the JVM would leave interpreted.
        "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods",
        # Clients would note for every column where in Python it was written, which takes longer than writing it.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        **own_code.of_server(),
        **privacy.of_hadoop(environment),
        # A killed client leaves its session behind; an hour, the default, would pile them up.
        "spark.connect.session.manager.defaultSessionTimeout": "10m",
    }
    command = [
        str(spark_home() / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--name", "weir"),
        *("--master", "local[*]"),
        *("--driver-memory", heap),
        *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]
    variables = {name: value for name, value in environment.items() if name not in ("SPARK_REMOTE", "SPARK_MASTER")}
    variables |= {
        "SPARK_HOME": str(spark_home()),
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,  # by the environment, since anyone may read a command line
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(own_code.ROOT),
    }
    return Program("spark", command, variables, folder, ready=partial(listens, "127.0.0.1", port), ready_within_s=120)
