"""A running web server whose database is frozen, killed, out of reach, moved or locked: it says so
in time, and goes on by itself.
"""

import http.client
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pgserver
import psycopg
import pytest
from django.db import DatabaseError, Error, IntegrityError, OperationalError
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.utils import DatabaseErrorWrapper
from psycopg import errors

from tests.migrated import home_with_database
from tests.postgresql import killed, migrated_database, postgresql, stopped
from tests.selections import mostly_long
from tests.webapp.config.test_frozen_redis import MAKE
from tests.webapp.launch.test_front import serving, wait_for
from webapp.config import secrets
from webapp.config.databases import from_environment
from webapp.config.environment import PROJECT_DIR
from webapp.lib.database_errors import why_away

# Weir answers within 2 s; the rest is for a machine that runs other tests meanwhile.
ANSWERS_WITHIN_S = 5.0
PAGES = (
    "/",
    "/findings/",
    "/alerts/",
    "/incidents/",
    "/storage/",
    "/hosts/",
    "/growth/",
    "/pipeline/",
    "/account/",
    "/fleet.csv",
)
API = "/api/v1/jobs/"
STATIC = "/static/css/base.css"


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    retry_after: str | None
    took_s: float


class Server:
    def __init__(
        self, port: int, cookie: str = "weir_session=0123456789abcdefghijklmnopqrstuv"
    ) -> None:
        self.port, self.cookie = port, cookie

    def get(self, path: str) -> Answer:
        began = time.monotonic()
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("GET", path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            text = answer.read().decode()
            return Answer(
                answer.status, text, answer.headers["Retry-After"], time.monotonic() - began
            )

    def is_there(self) -> bool:
        return not self.missing()

    def missing(self) -> dict[str, int]:
        found = {path: self.get(path).status for path in (*PAGES, API)}
        return {path: status for path, status in found.items() if status != 200}


def says_that_it_is_away(server: Server, pages: tuple[str, ...] = PAGES) -> None:
    before_the_watch_looks = server.get("/metrics").text.splitlines()
    assert {"weir_database_up 0", "weir_up 0"} <= set(before_the_watch_looks)
    for path in pages:
        answer = server.get(path)
        assert (answer.status, answer.retry_after) == (503, "5"), path
        assert (
            "The database does not answer" in answer.text
            and '<meta http-equiv="refresh" content="5">' in answer.text
        ), path
        assert answer.took_s < ANSWERS_WITHIN_S, path
    answer = server.get(API)
    assert (answer.status, answer.retry_after, json.loads(answer.text)["error"]["code"]) == (
        503,
        "5",
        "database_away",
    )
    assert answer.took_s < ANSWERS_WITHIN_S
    assert json.loads(server.get("/readyz").text) == {"ready": False, "problems": ["database.away"]}
    assert "\nweir_up 0\n" in server.get("/metrics").text
    assert (server.get("/healthz").text, server.get(STATIC).status) == ("ok\n", 200)


@contextmanager
def signed_in(folder: Path, **variables: str) -> Iterator[Server]:
    kept = {
        "WEIR_SECRET_KEY": secrets.new_secret_key(),
        "WEIR_FIELD_KEYS": secrets.new_field_key(),
        **variables,
    }
    home = {"WEIR_HOME": str(folder / "home"), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    command = [sys.executable, "-c", MAKE]
    made = subprocess.run(
        command,
        env=os.environ | kept | home,
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    with serving(folder, **kept) as (port, _):
        server = Server(port, f"weir_session={made.stdout.split()[-1]}")
        assert server.missing() == {}
        yield server


@pytest.fixture(scope="module")
def database() -> Iterator[pgserver.PostgresServer]:
    with postgresql() as server:
        yield server


@pytest.fixture(scope="module")
def on_postgresql(
    database: pgserver.PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with signed_in(
        tmp_path_factory.mktemp("away"), WEIR_DATABASE_URL=migrated_database(database, "away")
    ) as server:
        yield server


@pytest.mark.parametrize("harm", mostly_long([killed, stopped]))
def test_while_postgresql_is_frozen_or_killed_pages_say_so_and_afterwards_they_are_there_again(
    on_postgresql: Server,
    database: pgserver.PostgresServer,
    harm: Callable[[pgserver.PostgresServer], AbstractContextManager[None]],
) -> None:
    with harm(database):
        says_that_it_is_away(on_postgresql)
    wait_for(on_postgresql.is_there, 60)


def test_pages_that_wait_when_it_freezes_are_answered_as_well(
    on_postgresql: Server, database: pgserver.PostgresServer
) -> None:
    answers: list[Answer] = []

    def ask() -> None:
        while (answer := on_postgresql.get("/findings/")).status == 200:
            answers.append(answer)
        answers.append(answer)

    people = [Thread(target=ask) for _ in range(8)]
    for one in people:
        one.start()
    wait_for(lambda: len(answers) > len(people), 60)
    with stopped(database):
        for one in people:
            one.join(30)
        assert (
            sorted(answer.took_s for answer in answers if answer.status == 503)[-1]
            < ANSWERS_WITHIN_S + 0.5
        )
        assert len([answer for answer in answers if answer.status == 503]) == len(people)
    wait_for(on_postgresql.is_there, 60)


def test_an_address_that_takes_connections_and_never_answers_is_a_database_that_is_away(
    tmp_path: Path,
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1_000)) as taking:
        url = f"postgresql://weir:s3cret@127.0.0.1:{taking.getsockname()[1]}/weir"
        with serving(tmp_path, WEIR_DATABASE_URL=url) as (port, _):
            says_that_it_is_away(Server(port))
            assert "s3cret" not in Server(port).get("/").text


def test_a_statement_that_is_slow_is_waited_for(
    on_postgresql: Server, database: pgserver.PostgresServer
) -> None:
    with psycopg.connect(database.get_uri(database="away")) as other:
        other.execute("LOCK TABLE django_session IN ACCESS EXCLUSIVE MODE")
        answers: list[Answer] = []
        waiting = Thread(target=lambda: answers.append(on_postgresql.get("/findings/")))
        waiting.start()
        time.sleep(2.5)
    waiting.join(30)
    assert [answer.status for answer in answers] == [200]


@contextmanager
def moved(file: Path) -> Iterator[None]:
    shutil.move(file, file.with_suffix(".moved"))
    try:
        yield
        assert not file.exists()
    finally:
        shutil.move(file.with_suffix(".moved"), file)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as holder:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.long
def test_while_the_file_of_sqlite_is_moved_or_locked_pages_say_so_and_afterwards_they_are_there_again(
    tmp_path: Path,
) -> None:
    home_with_database(tmp_path / "home")
    with signed_in(tmp_path) as server:
        for harm, why in ((moved, "is not there"), (locked, "is locked")):
            with harm(tmp_path / "home" / "weir.sqlite3"):
                assert why in server.get("/").text
                says_that_it_is_away(server, ("/findings/", "/fleet.csv"))
            wait_for(server.is_there, 60)


@pytest.fixture
def wrapper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> DatabaseWrapper:
    monkeypatch.setenv("WEIR_DATABASE_URL", "postgresql://weir@127.0.0.1/weir")
    return DatabaseWrapper(from_environment("WEIR_DATABASE_URL", tmp_path))


@pytest.mark.parametrize(
    "cause",
    [
        psycopg.OperationalError("the connection is closed"),
        errors.ConnectionTimeout("connection timeout expired"),
        errors.AdminShutdown("terminating connection due to administrator command"),
    ],
)
def test_a_connection_that_fails_is_a_database_that_is_away(
    wrapper: DatabaseWrapper, cause: psycopg.Error
) -> None:
    with pytest.raises(DatabaseError) as raised, DatabaseErrorWrapper(wrapper):
        raise cause
    assert why_away(raised.value)


@pytest.mark.parametrize(
    "cause",
    [
        errors.QueryCanceled("cancelled"),
        errors.UniqueViolation("twice"),
        psycopg.InterfaceError("closed"),
    ],
)
def test_what_a_server_answered_or_a_program_did_wrong_is_not(
    wrapper: DatabaseWrapper, cause: psycopg.Error
) -> None:
    with pytest.raises(Error) as raised, DatabaseErrorWrapper(wrapper):
        raise cause
    assert not why_away(raised.value)


@pytest.mark.parametrize(
    "error", [OperationalError("no such table: x"), IntegrityError("x"), ValueError("x")]
)
def test_errors_of_django_and_of_sqlite_are_not(error: Exception) -> None:
    assert not why_away(error)
    error.__cause__ = sqlite3.OperationalError("no such table: x")
    assert not why_away(error)
