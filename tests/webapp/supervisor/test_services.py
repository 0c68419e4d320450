import os
import socket
import threading
import urllib.request

import pytest
import redis as redis_client

from webapp.config.environment import PROJECT_DIR
from webapp.supervisor import redis, services, spark_connect
from webapp.supervisor.child import Child
from webapp.supervisor.home import Home
from webapp.supervisor.ports import free_port, listens


def test_the_embedded_redis_serves_on_its_socket_and_on_no_port(home: Home, never: threading.Event) -> None:
    path = home.socket_path("redis.sock")
    child = Child(redis.embedded(home, path, dict(os.environ)), home.folder("logs"))
    child.start()
    try:
        child.wait_ready(never)
        client = redis_client.Redis(unix_socket_path=str(path))
        assert client.ping()
        told = client.info()
        assert (told["tcp_port"], told["maxmemory"]) == (0, 128 << 20)
        assert int(told["valkey_version"].split(".")[0]) >= 9
        assert path.stat().st_mode & 0o177 == 0
        assert client.eval("return 7", 0) == 7  # Celery's routes need it
    finally:
        child.stop()


@pytest.mark.parametrize(
    "command",
    ["CONFIG SET dir /tmp", "DEBUG SLEEP 0", "MODULE LIST", "REPLICAOF NO ONE", "SLAVEOF NO ONE", "FUNCTION LIST", "BGSAVE", "SAVE"],
)
def test_the_embedded_redis_does_nothing_that_weir_never_asks_for(
    tmp_path_factory: pytest.TempPathFactory, never: threading.Event, command: str
) -> None:
    home = Home(tmp_path_factory.mktemp("redis"))
    path = home.socket_path("redis.sock")
    child = Child(redis.embedded(home, path, dict(os.environ)), home.folder("logs"))
    child.start()
    try:
        child.wait_ready(never)
        with pytest.raises(redis_client.ResponseError, match="unknown command"):
            redis_client.Redis(unix_socket_path=str(path)).execute_command(*command.split())
    finally:
        child.stop()


def test_a_free_port_is_free() -> None:
    port = free_port()
    assert not listens("127.0.0.1", port)
    with socket.create_server(("127.0.0.1", port)):
        assert listens("127.0.0.1", port)


@pytest.mark.parametrize("given", ["3g", "1500m"])
def test_a_given_heap_is_taken(given: str) -> None:
    assert spark_connect.heap(given) == given


def test_the_heap_follows_the_memory_within_bounds() -> None:
    assert 1024 <= int(spark_connect.heap("").removesuffix("m")) <= 8192


@pytest.mark.parametrize("given", ["3", "3gb", "-1g", "much", "1g; rm"])
def test_nonsense_as_heap_is_refused(given: str) -> None:
    with pytest.raises(spark_connect.BadHeap, match="WEIR_SPARK_HEAP"):
        spark_connect.heap(given)


def test_spark_listens_on_loopback_and_keeps_its_token_off_the_command_line(home: Home) -> None:
    program = spark_connect.embedded(home, 28111, "s3cret", "1g", {"SPARK_REMOTE": "sc://elsewhere"})
    assert "spark.connect.grpc.binding.address=127.0.0.1" in program.command
    assert not any("s3cret" in word for word in program.command)
    assert "SPARK_REMOTE" not in program.environment


def test_each_queue_has_a_worker_of_its_own() -> None:
    for queue in services.QUEUES:
        command = list(services.worker(queue, PROJECT_DIR, {}).command)
        assert command[command.index("--queues") + 1] == queue


def test_the_web_server_serves_pages(home: Home, never: threading.Event) -> None:
    bind = f"127.0.0.1:{free_port()}"
    variables = {**os.environ, "WEIR_HOME": str(home.root), "WEIR_BIND": bind}
    child = Child(services.web(bind, PROJECT_DIR, variables), home.folder("logs"))
    child.start()
    try:
        child.wait_ready(never)
        with urllib.request.urlopen(f"http://{bind}/healthz", timeout=90) as answer:
            assert answer.status == 200
    finally:
        child.stop()
