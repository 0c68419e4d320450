"""The web server of ``make run`` under clients that are slow, silent, many or talk nonsense: it
answers everybody else.
"""

import http.client
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.programs import Running, start
from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import Home, free_port, listens

ANSWERS_WITHIN_S = 15
"""Generous, for a busy machine; what is broken does not answer at all."""
LARGE = "/static/vendor/plotly/plotly-cartesian.min.js"
LARGE_BYTES = (PROJECT_DIR / "static/vendor/plotly/plotly-cartesian.min.js").stat().st_size

HALF_A_HEADER = b"GET /sign-in/ HTTP/1.1\r\nHost: localhost\r\nX-Long: "
HALF_A_BODY = (
    b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nCookie: weir_csrf=" + b"a" * 32 + b"\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nusername="
)
HALF_A_CHUNK = HALF_A_BODY.replace(b"Content-Length: 1000", b"Transfer-Encoding: chunked").replace(
    b"username=", b"ff\r\nuser"
)
ANSWER_NOT_TAKEN = b"GET " + LARGE.encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextmanager
def serving(folder: Path, **variables: str) -> Iterator[tuple[int, Running]]:
    """The program as `make run` starts it."""
    home, port = Home(folder / "home"), free_port()
    home.folder("static")
    (home.root / "weir.sqlite3").touch()
    bind = f"127.0.0.1:{port}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    child = start(
        "web", home, kept | {"WEIR_BIND": bind, "WEIR_REDIS_URL": "unix:///nowhere"} | variables
    )
    try:
        wait_for(lambda: listens("127.0.0.1", port), 90)
        assert get(port, "/healthz", within_s=90) == 200
        yield port, child
    finally:
        child.stop()


def wait_for(condition: Callable[[], object], within_s: float) -> None:
    give_up = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < give_up, f"not within {within_s} s"
        time.sleep(0.1)


def get(port: int, path: str, within_s: float = ANSWERS_WITHIN_S, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=within_s)
    try:
        connection.request(
            "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        return connection.getresponse().status
    finally:
        connection.close()


@contextmanager
def held(port: int, sent: bytes, count: int) -> Iterator[list[socket.socket]]:
    """Connections that sent so much and no more, and take nothing."""
    with ExitStack() as open_ones:
        made = []
        for _ in range(count):
            one = open_ones.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.settimeout(ANSWERS_WITHIN_S)
            one.connect(("127.0.0.1", port))
            one.sendall(sent)
            made.append(one)
        yield made


def is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(65536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Running]]:
    with serving(
        tmp_path_factory.mktemp("front"), WEIR_HTTPS="true", WEIR_BEHIND_PROXY="true"
    ) as running:
        yield running


@pytest.fixture
def port(server: tuple[int, Running]) -> int:
    return server[0]


@pytest.mark.parametrize("count", [20, 200])
@pytest.mark.parametrize("sent", [b"", HALF_A_HEADER, HALF_A_BODY, HALF_A_CHUNK, ANSWER_NOT_TAKEN])
def test_half_open_requests_and_readers_that_take_nothing_hold_up_nobody(
    port: int, sent: bytes, count: int
) -> None:
    with held(port, sent, count):
        for _ in range(5):
            assert get(port, "/healthz") == 200
        assert get(port, "/sign-in/", X_Forwarded_Proto="https") == 200


def test_a_request_in_pieces_that_comes_to_its_end_is_answered(port: int) -> None:
    request = HALF_A_BODY.replace(b"1000", b"24").replace(
        b"Host:", b"X-Forwarded-Proto: https\r\nHost:"
    )
    with held(port, request[:30], 1) as (one,):
        for piece in (request[30:90], request[90:], b"ada&password"):
            time.sleep(0.3)
            one.sendall(piece)
        one.sendall(b"=xy")
        assert one.recv(100).startswith(b"HTTP/1.1 403")  # by Django: the forged token is no token


def test_a_slow_reader_gets_all_of_a_large_answer(port: int) -> None:
    request = ANSWER_NOT_TAKEN.replace(
        b"Host:", b"X-Forwarded-Proto: https\r\nConnection: close\r\nHost:"
    )
    with held(port, request, 1) as (one,):
        time.sleep(2)
        taken = 0
        while piece := one.recv(65536):
            taken += len(piece)
        assert taken > LARGE_BYTES


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"a" * 100_000 + b"\r\n\r\n",
            b"431",
        ),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"431"),
        (HALF_A_BODY.replace(b"1000", b"99999999"), b"413"),
        (HALF_A_BODY.replace(b"1000", b"-1"), b"400"),
        (b"\x16\x03\x01" + bytes(range(256)) + b"\r\n\r\n", b"400"),
        (
            HALF_A_CHUNK.replace(b"Transfer", b"Content-Length: 5\r\nTransfer").replace(
                b"ff\r\n", b"zz\r\n"
            ),
            b"400",
        ),
    ],
)
def test_what_is_too_large_or_nonsense_is_refused_and_cut_off(
    port: int, sent: bytes, status: bytes
) -> None:
    with held(port, b"", 1) as (one,):
        with suppress(BrokenPipeError, ConnectionResetError):  # it need not wait for the end
            one.sendall(sent)
        assert one.recv(100).split()[1] == status
        wait_for(lambda: is_closed(one), ANSWERS_WITHIN_S)
    assert get(port, "/healthz") == 200


def test_many_requests_on_one_connection_are_answered_in_order(port: int) -> None:
    with held(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 99, 1) as (one,):
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answers = b""
        while piece := one.recv(65536):
            answers += piece
        assert answers.count(b"HTTP/1.1 200") == 100


def test_the_proxy_says_whether_it_was_https(port: int) -> None:
    assert get(port, "/sign-in/") == 301
    assert get(port, "/sign-in/", X_Forwarded_Proto="https") == 200


def test_the_access_log_has_no_query_and_no_line_of_the_clients_making(
    server: tuple[int, Running],
) -> None:
    port, child = server
    get(
        port,
        "/healthz?token=s3cr3t",
        Referer="https://weir.example.org/?code=s3cr3t",
        User_Agent='x" 200 "y',
    )
    get(port, "/made%0a127.0.0.1%20up?s3cr3t")
    wait_for(lambda: "/made" in child.log_path.read_text(), 10)
    log = child.log_path.read_text()
    assert "s3cr3t" not in log
    assert '"GET /healthz" 200' in log
    assert "/made%0A127.0.0.1%20up" in log


def test_without_a_proxy_nobody_is_believed_to_be_one(tmp_path: Path) -> None:
    with serving(tmp_path, WEIR_HTTPS="true") as (port, _):
        assert get(port, "/sign-in/", X_Forwarded_Proto="https") == 301


def test_it_stops_in_time_whoever_holds_connections(tmp_path: Path) -> None:
    with (
        serving(tmp_path) as (port, child),
        held(port, HALF_A_BODY, 50),
        held(port, ANSWER_NOT_TAKEN, 5),
    ):
        process = child.process
        assert process is not None
        child.stop()
        assert process.wait(10) == 0  # by itself: it did not have to be killed


@pytest.mark.long
def test_a_process_that_is_killed_ends_all_of_them_so_that_they_are_started_anew(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as (port, child):
        process = child.process
        assert process is not None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        # The first one answers while the others are still being started.
        wait_for(lambda: len(children.read_text().split()) > 1, 90)
        (one, *others) = [int(pid) for pid in children.read_text().split()]
        os.kill(one, signal.SIGKILL)
        assert process.wait(30) == 1
        assert not any(Path(f"/proc/{pid}").exists() for pid in others)
        assert not listens("127.0.0.1", port)
