"""The commands of ``compose.yaml``, each run directly: PostgreSQL, Redis, a standalone Spark behind
Connect, workers, web.
"""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pgserver
import psycopg
import pytest
import yaml

from ingest.replay.shipped import recordings
from tests.integration.running import until
from tests.postgresql import postgresql
from tests.programs import Running, start
from webapp.config import secrets
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import Home, free_port, listens
from webapp.launch.variables import spark_home

pytestmark = [pytest.mark.integration, pytest.mark.cluster, pytest.mark.long]

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((PROJECT_DIR / "compose.yaml").read_text())[
    "services"
]
RECORDING = "1.20.5/E"


class Production:
    """The services of the compose file as processes of this machine, with its addresses in place of
    their names.
    """

    def __init__(self, home: Home, database_url: str, redis_url: str) -> None:
        self.home, self.web, self.master, self.connect, self.worker_page = (
            home,
            free_port(),
            free_port(),
            free_port(),
            free_port(),
        )
        self.children: dict[str, Running] = {}
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WEIR_", "SPARK_"))
        }
        self.variables = clean | {
            "PATH": f"{Path(sys.executable).parent}:{spark_home() / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT_DIR),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_HOME": str(spark_home()),
            "SPARK_REMOTE": f"sc://127.0.0.1:{self.connect}",
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
            "WEIR_HOME": str(home.root),
            "WEIR_DATABASE_URL": database_url,
            "WEIR_REDIS_URL": redis_url,
            "WEIR_SECRET_KEY": secrets.new_secret_key(),
            "WEIR_FIELD_KEYS": secrets.new_field_key(),
            "WEIR_SPARK_INTERVAL_S": "3",
        }

    def command(self, service: str) -> list[str]:
        here = {
            "0.0.0.0:8000": f"127.0.0.1:{self.web}",
            "spark-master": "127.0.0.1",
            "7077": str(self.master),
            "spark://spark-master:7077": f"spark://127.0.0.1:{self.master}",
            "${SPARK_MASTER_URL:-spark://spark-master:7077}": f"spark://127.0.0.1:{self.master}",
            "${SPARK_DRIVER_MEMORY:-2g}": "1g",
            "${SPARK_WORKER_CORES:-2}": "1",
            "${SPARK_WORKER_MEMORY:-4g}": "1g",
            "/tmp/spark-work": str(self.home.folder("spark-work")),
            "/tmp/spark-warehouse": str(self.home.folder("spark-warehouse")),
            "spark.connect.grpc.binding.port=15002": f"spark.connect.grpc.binding.port={self.connect}",
            "8081": str(self.worker_page),
            "4": "2",
        }
        words = [here.get(word, word) for word in SERVICES[service]["command"]]
        loopback = ["--conf", "spark.driver.host=127.0.0.1"] if service == "spark-connect" else []
        loopback += ["--host", "127.0.0.1"] if service == "spark-worker" else []
        return [*words[:-1], *loopback, words[-1]] if loopback else words

    def run(self, *command: str) -> str:
        """Run to the end, as ``docker compose run`` would."""
        run = subprocess.run(
            command,
            env=self.variables,
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert run.returncode in (0, 1), run.stdout + run.stderr
        return run.stdout

    def alive_file(self, service: str) -> Path:
        return self.home.folder("alive") / service

    def is_healthy(self, service: str, alive_file: Path | None = None) -> bool:
        """Its check, as Docker would run it in the container."""
        kind, *words = SERVICES[service]["healthcheck"]["test"]
        here = {
            "/tmp/weir-alive": str(alive_file or self.alive_file(service)),
            "'spark-master'": "'127.0.0.1'",
            "7077": str(self.master),
        }
        here |= {
            "127.0.0.1:8000": f"127.0.0.1:{self.web}",
            "8081": str(self.worker_page),
            "15002": str(self.connect),
        }
        for name, value in here.items():
            words = [word.replace(name, value) for word in words]
        command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        variables = self.variables | {
            "PGHOST": parse_qs(urlsplit(self.variables["WEIR_DATABASE_URL"]).query)["host"][0]
        }
        variables["PATH"] += f":{Path(pgserver.__file__).parent / 'pginstall' / 'bin'}"
        return (
            subprocess.run(
                command,
                env=variables,
                cwd=PROJECT_DIR,
                capture_output=True,
                timeout=60,
                check=False,
            ).returncode
            == 0
        )

    def start(self, service: str) -> None:
        variables = self.variables | {"WEIR_ALIVE_FILE": str(self.alive_file(service))}
        self.children[service] = Running(
            service, self.command(service), variables, self.home.folder("logs")
        )

    def stop(self) -> None:
        """All are asked before any is waited for."""
        for child in self.children.values():
            child.ask_to_stop()
        for child in reversed(self.children.values()):
            child.stop()

    def get(self, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web}{path}", timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Production]:
    home = Home(tmp_path_factory.mktemp("production") / "home")
    socket = home.socket_path("redis.sock")
    with ExitStack() as stack:
        database = stack.enter_context(postgresql())
        stack.callback(start("redis", home, os.environ).stop)
        production = Production(home, database.get_uri(), f"unix://{socket}")
        stack.callback(production.stop)
        production.start("spark-master")
        until(lambda: listens("127.0.0.1", production.master), 90, "the Spark master")
        production.start("spark-worker")
        production.start("spark-connect")
        production.run(*production.command("database-schema"))
        for service in (
            "web",
            "worker-collect",
            "worker-spark",
            "worker-storage",
            "worker-alerts",
            "worker-default",
            "beat",
        ):
            production.start(service)
        until(lambda: production.get("/healthz") == 200, 60, "the web server")
        until(lambda: listens("127.0.0.1", production.connect), 300, "Spark Connect")
        yield production


def test_every_service_of_ours_keeps_running(production: Production) -> None:
    assert set(production.children) == {
        name for name, service in SERVICES.items() if "weir" in str(service["image"])
    } - {"database-schema"}
    time.sleep(2)
    assert [
        name for name, child in production.children.items() if child.process.poll() is not None
    ] == []


def test_the_workers_and_beat_report_for_duty(production: Production) -> None:
    until(lambda: production.get("/readyz") == 200, 90, "readiness")


def test_every_service_is_healthy_by_its_own_check(production: Production) -> None:
    for service in (*production.children, "database"):
        until(
            lambda service=service: production.is_healthy(service), 60, f"the health of {service}"
        )


def test_whoever_has_not_worked_for_minutes_is_not_healthy(production: Production) -> None:
    """What a worker that hangs leaves: the file is there, and old."""
    file = production.alive_file("nobody")
    assert not production.is_healthy("beat", file)
    file.touch()
    assert production.is_healthy("beat", file)
    os.utime(file, (time.time() - 240,) * 2)
    assert not production.is_healthy("beat", file)


def test_an_administrator_can_be_made(production: Production) -> None:
    assert "Sign in as admin" in production.run("python", "manage.py", "ensure_admin")


def test_a_recording_goes_through_workers_and_cluster_to_postgresql(production: Production) -> None:
    production.run(
        "python",
        "manage.py",
        "import_recording",
        str(recordings() / RECORDING),
        "--cluster",
        "case",
    )
    with psycopg.connect(production.variables["WEIR_DATABASE_URL"], autocommit=True) as database:
        known = "SELECT count(*) >= 20 FROM checkpoints_checkpointfact WHERE cluster = 'case'"
        until(
            lambda: database.execute(known).fetchone() == (True,),
            900,
            "the recording's checkpoints in the database",
        )
    rows = production.run("python", "manage.py", "checkpoints", "--cluster", "case")
    assert '"declined"' in rows
