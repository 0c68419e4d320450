import os
import socket

import pytest
import redis as redis_client

from tests.integration.running import until
from tests.programs import declared, start
from webapp.config.schedule import QUEUES
from webapp.launch import variables
from webapp.launch.home import Home, free_port, listens

REFUSED = (
    "CONFIG SET dir /tmp",
    "DEBUG SLEEP 0",
    "MODULE LIST",
    "REPLICAOF NO ONE",
    "SLAVEOF NO ONE",
    "FUNCTION LIST",
    "BGSAVE",
    "SAVE",
)


def test_redis_serves_on_its_socket_alone_and_does_nothing_that_weir_never_asks_for(
    home: Home,
) -> None:
    given = {name: value for name, value in os.environ.items() if name != "WEIR_REDIS_URL"}
    running = start("redis", home, given)
    try:
        path = home.socket_path("redis.sock")
        until(path.exists, 20, "its socket")
        client = redis_client.Redis(unix_socket_path=str(path))
        info = client.info()
        assert (info["tcp_port"], info["maxmemory"]) == (0, 128 << 20)
        assert path.stat().st_mode & 0o177 == 0
        assert client.eval("return 7", 0) == 7  # Celery's routes need it
        for command in REFUSED:
            with pytest.raises(redis_client.ResponseError, match="unknown command"):
                client.execute_command(*command.split())
    finally:
        running.stop()


def test_a_free_port_is_free() -> None:
    port = free_port()
    assert not listens("127.0.0.1", port)
    with socket.create_server(("127.0.0.1", port)):
        assert listens("127.0.0.1", port)


@pytest.mark.parametrize(
    ("given", "taken"), [("3g", "3g"), ("1500m", "1500m"), ("", variables.DEFAULT_HEAP)]
)
def test_the_heap_is_the_given_one_or_a_small_one(given: str, taken: str) -> None:
    assert variables.heap(given) == taken


@pytest.mark.parametrize("given", ["3", "3gb", "-1g", "much", "1g; rm"])
def test_nonsense_as_heap_is_refused(given: str) -> None:
    with pytest.raises(variables.BadHeap, match="WEIR_SPARK_HEAP"):
        variables.heap(given)


def test_spark_listens_on_loopback_and_its_token_stands_in_no_command_line() -> None:
    command = declared().get("program:spark", "command")
    assert "spark.connect.grpc.binding.address=127.0.0.1" in command
    assert "TOKEN" not in command


def test_each_queue_has_a_worker_of_its_own() -> None:
    programs = declared()
    commands = [
        programs.get(name, "command")
        for name in programs.sections()
        if name.startswith("program:worker-")
    ]
    assert sorted(command.partition("-Q ")[2].split()[0] for command in commands) == sorted(QUEUES)


def test_every_program_is_in_a_group_and_on_the_leash() -> None:
    programs = declared()
    names = {name.partition(":")[2] for name in programs.sections() if name.startswith("program:")}
    grouped = [
        name
        for group in ("group:behind", "group:front")
        for name in programs.get(group, "programs").split(",")
    ]
    assert sorted(grouped) == sorted(names)
    assert all(
        programs.get(f"program:{name}", "command").startswith("%(ENV_WEIR_LEASH)s ")
        for name in names
    )
