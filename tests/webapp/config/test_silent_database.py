"""A PostgreSQL that is frozen; pages give it up in time and leave it alone for a moment; other work waits, as all do for a slow one."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pgserver
import psycopg
import pytest
from django.db import DatabaseError, Error, IntegrityError, OperationalError, transaction
from django.db.utils import DatabaseErrorWrapper
from psycopg import errors
from pytest_django import DjangoDbBlocker

from tests.postgresql import migrated_database, postgresql, stopped
from tests.webapp.config.test_frozen_redis import MAKE
from tests.webapp.web.test_front import get, serving, wait_for
from webapp.config import breaker, secrets
from webapp.config.databases import from_environment
from webapp.config.environment import PROJECT_DIR
from webapp.config.postgresql import listening
from webapp.config.postgresql.base import DatabaseWrapper
from webapp.lib.database_errors import is_away


@pytest.fixture(scope="module")
def server() -> Iterator[pgserver.PostgresServer]:
    with postgresql() as server:
        yield server


@pytest.fixture
def database(
    server: pgserver.PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> Iterator[DatabaseWrapper]:
    """As Django holds it for a page."""
    monkeypatch.setattr(breaker, "database", breaker.Breaker(""))
    monkeypatch.setattr(listening, "_serves_pages", True)
    monkeypatch.setattr(listening, "PAGES_PATIENCE_S", 0.2)
    monkeypatch.setenv("WEIR_DATABASE_URL", server.get_uri())
    defaults = {"AUTOCOMMIT": True, "TIME_ZONE": None, "CONN_HEALTH_CHECKS": True, "ATOMIC_REQUESTS": False}
    made = DatabaseWrapper(defaults | from_environment("WEIR_DATABASE_URL", tmp_path))
    with django_db_blocker.unblock():
        yield made
        made.close()


def answer(database: DatabaseWrapper, statement: str) -> object:
    with database.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


def test_a_slow_statement_of_a_server_that_is_there_is_waited_for(database: DatabaseWrapper) -> None:
    assert answer(database, "SELECT 7 FROM pg_sleep(1.2)") == 7


def test_a_frozen_server_is_given_up_and_then_not_asked_until_a_moment_has_passed(
    database: DatabaseWrapper, server: pgserver.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(database, "SELECT 1")
    other = listening.ListeningConnection.connect(server.get_uri(), autocommit=True)
    with stopped(server):
        with pytest.raises(OperationalError) as raised:
            answer(database, "SELECT 1")
        assert is_away(raised.value)
        monkeypatch.setattr(listening, "PAGES_PATIENCE_S", 3600)  # whoever waits now waits for ever
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            other.execute("SELECT 1")
        database.close()
        with pytest.raises(OperationalError) as raised:
            answer(database, "SELECT 1")
        assert is_away(raised.value)
    monkeypatch.setattr(breaker, "OPEN_S", 0)
    database.close()
    assert answer(database, "SELECT 2") == 2
    assert breaker.database.allows()
    assert breaker.database.allows()


def test_neither_the_end_of_a_transaction_nor_the_next_look_at_the_connection_waits_again(
    database: DatabaseWrapper, server: pgserver.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django.db.transaction.get_connection", lambda _using: database)
    answer(database, "SELECT 1")
    with stopped(server):
        with pytest.raises(OperationalError) as raised, transaction.atomic():
            monkeypatch.setattr(listening, "PROBE_S", 0.1)
            answer(database, "SELECT 1")
        assert is_away(raised.value)
        monkeypatch.setattr(listening, "PAGES_PATIENCE_S", 3600)
        database.close_if_unusable_or_obsolete()
        assert database.connection is None


def test_what_serves_no_pages_waits_for_a_server_that_is_frozen_for_a_moment(
    database: DatabaseWrapper, server: pgserver.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_serves_pages", False)
    answer(database, "SELECT 1")
    told: list[object] = []
    waiting = threading.Thread(target=lambda: told.append(answer(database, "SELECT 3")), daemon=True)
    database.inc_thread_sharing()
    with stopped(server):
        waiting.start()
        time.sleep(1.5)
        assert not told
    waiting.join(30)
    assert told == [3]


def test_it_gives_up_as_well_once_its_patience_is_over(
    database: DatabaseWrapper, server: pgserver.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_serves_pages", False)
    monkeypatch.setattr(listening, "PATIENCE_S", 0.2)
    answer(database, "SELECT 1")
    with stopped(server), pytest.raises(OperationalError, match="does not answer"):
        answer(database, "SELECT 1")


@pytest.mark.parametrize(
    "cause",
    [
        psycopg.OperationalError("the connection is closed"),
        errors.ConnectionTimeout("connection timeout expired"),
        errors.AdminShutdown("terminating connection due to administrator command"),
    ],
)
def test_a_connection_that_fails_is_a_database_that_is_away(database: DatabaseWrapper, cause: psycopg.Error) -> None:
    with pytest.raises(DatabaseError) as raised, DatabaseErrorWrapper(database):
        raise cause
    assert is_away(raised.value)


@pytest.mark.parametrize("cause", [errors.QueryCanceled("cancelled"), errors.UniqueViolation("twice"), psycopg.InterfaceError("closed")])
def test_what_a_server_answered_or_a_program_did_wrong_is_not(database: DatabaseWrapper, cause: psycopg.Error) -> None:
    with pytest.raises(Error) as raised, DatabaseErrorWrapper(database):
        raise cause
    assert not is_away(raised.value)


@pytest.mark.parametrize("error", [OperationalError("no such table: x"), IntegrityError("x"), ValueError("x")])
def test_errors_of_django_and_of_sqlite_are_not(error: Exception) -> None:
    assert not is_away(error)
    error.__cause__ = sqlite3.OperationalError("database is locked")
    assert not is_away(error)


PAGES = ("/", "/findings/", "/alerts/", "/incidents/", "/storage/", "/hosts/", "/growth/", "/pipeline/")
ANSWERS_WITHIN_S = 2 + 4
"""Two seconds, and what a machine that runs tests beside may add. What waits for the server does so for ever."""


def test_every_page_of_a_running_web_server_says_so_and_is_there_again_afterwards(server: pgserver.PostgresServer, tmp_path: Path) -> None:
    variables = {
        "WEIR_DATABASE_URL": migrated_database(server, "pages"),
        "WEIR_SECRET_KEY": secrets.new_secret_key(),
        "WEIR_FIELD_KEYS": secrets.new_field_key(),
    }
    environment = os.environ | variables | {"WEIR_HOME": str(tmp_path / "made"), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    made = subprocess.run([sys.executable, "-c", MAKE], env=environment, cwd=PROJECT_DIR, capture_output=True, text=True, check=True)
    session = {"Cookie": f"weir_session={made.stdout.split()[-1]}"}
    with serving(tmp_path, **variables) as (port, _):
        ask = partial(get, port, within_s=ANSWERS_WITHIN_S, **session)
        assert {ask(path) for path in PAGES} == {200}
        with stopped(server):
            assert {ask(path) for path in (*PAGES, *PAGES)} == {503}
        wait_for(lambda: {ask(path) for path in PAGES} == {200}, 60)
