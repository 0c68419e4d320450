"""``compose.yaml`` and ``Dockerfile`` as text: what they promise must exist in the tree."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands
from redis import AuthenticationError, Redis, ResponseError

from webapp.config import schedule, secrets
from webapp.config.environment import PROJECT_DIR
from webapp.launch.variables import redis_server

COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT_DIR / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (PROJECT_DIR / "Dockerfile").read_text()
OURS = {
    name: service for name, service in SERVICES.items() if str(service["image"]).startswith("weir-")
}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_every_queue_has_its_worker() -> None:
    served = [
        option(service["command"], "--queues")
        for service in OURS.values()
        if "--queues" in service.get("command", [])
    ]
    assert sorted(served) == sorted(schedule.QUEUES)


def test_exactly_one_beat_runs() -> None:
    assert [name for name, service in OURS.items() if "beat" in service["command"]] == ["beat"]


@pytest.mark.parametrize(
    "name", ["POSTGRES_PASSWORD", "REDIS_PASSWORD", "WEIR_SECRET_KEY", "WEIR_FIELD_KEYS"]
)
def test_secrets_have_no_default(name: str) -> None:
    uses = re.findall(rf"\$\{{{name}([^}}]*)\}}", (PROJECT_DIR / "compose.yaml").read_text())
    assert uses
    assert all(use.startswith(":?") for use in uses)


def test_the_example_environment_names_every_required_secret_and_no_value_of_one() -> None:
    lines = (PROJECT_DIR / "compose.env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert {
        given[name]
        for name in ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "WEIR_SECRET_KEY", "WEIR_FIELD_KEYS")
    } == {""}


def test_every_variable_is_one_that_weir_reads() -> None:
    read = "".join(path.read_text() for path in (PROJECT_DIR / "webapp" / "config").glob("*.py"))
    read += "".join(path.read_text() for path in (PROJECT_DIR / "spark_jobs").glob("*.py"))
    unknown = [name for name in COMPOSE["x-worker"]["environment"] if name not in read]
    assert unknown == []


def test_nothing_but_the_web_server_is_published_and_that_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web": ["${WEIR_PUBLISH:-127.0.0.1:8000}:8000"]}


def test_who_waits_waits_for_a_service_that_exists() -> None:
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)


def test_what_is_waited_for_in_health_has_a_check() -> None:
    for service in SERVICES.values():
        for name, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "test" in SERVICES[name]["healthcheck"], name


def test_every_service_that_goes_on_running_has_a_check() -> None:
    """Each is run in ``tests/integration/test_production.py``, that of the queue below."""
    unchecked = {name for name, service in SERVICES.items() if "test" not in service["healthcheck"]}
    assert (
        unchecked
        == {name for name, service in SERVICES.items() if service["restart"] == "no"}
        == {"database-schema"}
    )


@pytest.mark.parametrize(
    "text", ["compose.yaml", "compose.env.example", "webapp/site/docs/pages/install.md"]
)
def test_commands_for_docker_name_services_files_and_commands_that_exist(text: str) -> None:
    """Of the example of secrets those of Python are run: what they print is accepted."""
    written = (PROJECT_DIR / text).read_text()
    for name in re.findall(r"\bcp (\S+) \.env\b", written):
        assert (PROJECT_DIR / name).is_file()
    for service, command in re.findall(
        r"docker compose run --rm (\S+) python manage\.py (\w+)", written
    ):
        assert service in OURS and command in get_commands()
    for service in re.findall(r"docker compose up --scale (\S+)=", written):
        assert service in SERVICES
    for code, name in re.findall(r"^# python3 -c '(.+)'\n(\w+)=$", written, re.MULTILINE):
        value = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert len(value) >= 40
        if name == "WEIR_FIELD_KEYS":
            assert secrets.are_field_keys(value)
        if name == "WEIR_SECRET_KEY":
            assert len(value) >= 50


def test_images_of_others_are_pinned() -> None:
    for name, service in SERVICES.items():
        if name not in OURS:
            assert re.fullmatch(r"[a-z]+:\d+", service["image"]), name


def test_what_needs_java_or_prints_reports_runs_in_the_image_that_has_both() -> None:
    for name, service in OURS.items():
        command = service["command"]
        works = "worker" in command or any(word.startswith("spark-") for word in command)
        target = "worker" if works else "web"
        assert service["build"] == {"context": ".", "target": target}, name
        assert service["image"].startswith(f"weir-{target}:"), name
        assert re.search(rf"^FROM \w+ AS {target}$", DOCKERFILE, re.MULTILINE)


def test_the_web_server_is_started_as_the_image_starts_it() -> None:
    in_image = re.search(r'^CMD (\["python".*\])$', DOCKERFILE, re.MULTILINE)
    assert in_image
    assert yaml.safe_load(in_image[1]) == SERVICES["web"]["command"]


def test_the_image_takes_every_package_and_nothing_that_is_missing() -> None:
    copied = {
        Path(source) for source in re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    }
    assert all((PROJECT_DIR / path).exists() for path in copied)
    assert {
        Path(name)
        for name in ("ingest", "spark_jobs", "webapp", "templates", "static", "manage.py")
    } <= copied


def test_the_image_checks_hashes_and_runs_as_nobody_special() -> None:
    assert "--require-hashes" in DOCKERFILE
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)


def is_healthy(password: str, socket: Path, folder: Path) -> bool:
    """The check itself; ``redis-cli``, which the image of the queue brings, is what its client of
    Python says.
    """
    client = folder / "redis-cli"
    client.write_text(
        f"#!{sys.executable}\nimport os, redis, sys\n"
        f"client = redis.Redis(unix_socket_path={str(socket)!r}, "
        "password=os.environ['REDISCLI_AUTH'])\n"
        "print('PONG' if sys.argv[1:] == ['ping'] and client.ping() else '')\n"
    )
    client.chmod(0o755)
    kind, command = SERVICES["queue"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "REDIS_PASSWORD": password}
    shell = ["sh", "-c", command.replace("$$", "$")]
    return subprocess.run(shell, env=environment, capture_output=True, check=False).returncode == 0


def test_the_queue_answers_nobody_without_its_password_and_shows_it_to_nobody(
    tmp_path: Path,
) -> None:
    """The command itself, with the server that is at hand."""
    service, password = SERVICES["queue"], "a-b_c" * 8
    (tmp_path / "redis-server").symlink_to(redis_server())
    command = [
        word.replace("$$", "$").replace("/tmp/", f"{tmp_path}/") for word in service["command"]
    ]
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REDIS_PASSWORD": password}
    socket = tmp_path / "queue.sock"
    server = subprocess.Popen(
        [*command, "--port", "0", "--unixsocket", str(socket)],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    try:
        give_up = time.monotonic() + 30
        while not socket.exists() and time.monotonic() < give_up:
            time.sleep(0.1)
        with pytest.raises(AuthenticationError):
            Redis(unix_socket_path=str(socket)).ping()
        client = Redis(unix_socket_path=str(socket), password=password)
        assert client.ping()
        assert is_healthy(password, socket, tmp_path) and not is_healthy(
            "another", socket, tmp_path
        )
        with pytest.raises(ResponseError, match="unknown command"):
            client.config_get("requirepass")
        assert password not in Path(f"/proc/{server.pid}/cmdline").read_text()
        assert (tmp_path / "queue.conf").stat().st_mode & 0o077 == 0
    finally:
        server.kill()
        server.wait()


def test_who_uses_the_queue_knows_its_password() -> None:
    assert COMPOSE["x-worker"]["environment"]["WEIR_REDIS_URL"].startswith(
        "${WEIR_REDIS_URL:-redis://:${REDIS_PASSWORD:?"
    )
    assert SERVICES["queue"]["user"] == "redis"
