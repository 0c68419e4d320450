"""A PostgreSQL that refuses connections, or takes them and never says a word: pages and the API say so, and the server lives on."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.webapp.web.test_front import serving
from webapp.lib.database_errors import AWAY

PAGES = ("/", "/findings/", "/alerts/", "/incidents/", "/storage/", "/hosts/", "/growth/", "/pipeline/", "/jobs/c/0/")
SESSION = {"Cookie": "weir_session=0123456789abcdefghijklmnopqrstuv"}


@pytest.fixture(scope="module")
def swallowing() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening


@pytest.fixture(scope="module")
def port(swallowing: socket.socket, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    url = f"postgresql://weir@127.0.0.1:{swallowing.getsockname()[1]}/weir"
    with serving(tmp_path_factory.mktemp("away"), WEIR_DATABASE_URL=url) as (port, _):
        yield port


def asked(port: int, path: str, headers: dict[str, str]) -> tuple[int, str, str | None]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers["Retry-After"]


def test_pages_say_that_the_database_does_not_answer(port: int, swallowing: socket.socket) -> None:
    assert "The database does not answer" in asked(port, "/", SESSION)[1]  # taken, and never answered
    swallowing.close()
    for path in PAGES:
        status, page, retry_after = asked(port, path, SESSION)
        assert (status, retry_after) == (503, "5"), path
        assert "The database does not answer" in page and "resumes where it stopped" in page, path
    status, told, _ = asked(port, "/api/v1/jobs/", {"Authorization": "Bearer weir_x"})
    assert (status, json.loads(told)["error"]["code"], json.loads(told)["error"]["message"]) == (503, "database_away", AWAY)
    for headers in ({}, SESSION):  # a probe that a browser opens brings its session along
        assert asked(port, "/healthz", headers)[:2] == (200, "ok\n")
        status, told, _ = asked(port, "/readyz", headers)
        assert (status, json.loads(told)) == (503, {"ready": False, "problems": ["database.away"]})
