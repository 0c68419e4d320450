"""Redis that is frozen, dead or slow: every page and every save answers in time, and what is due is done later."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.webapp.pipeline.site import Site, kill
from tests.webapp.web.test_front import serving, wait_for
from webapp.config import breaker

WITHIN_S = 2.0
MAKE = """
import django; django.setup()
from django.contrib.auth.models import Group
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from webapp.accounts.models import User
user = User.objects.create_superuser("ada", password="a long enough password")
session = SessionStore()
session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(user.pk), "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
print(session.session_key)
"""
SAVE = """
import django; django.setup()
import time
from django.db import transaction
from webapp.alerting import evaluation_hint
from webapp.work import hints
took = []
for _ in range(5):
    began = time.monotonic()
    with transaction.atomic():
        evaluation_hint.wake()
        evaluation_hint.wake()
    took.append(time.monotonic() - began)
print(max(took))
"""


@contextmanager
def slow(to: Path, at: Path, answer_after_s: float) -> Iterator[None]:
    """Between a Redis and its clients: every answer comes late."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(at))
    listening.listen(64)

    def carry(source: socket.socket, target: socket.socket, after_s: float) -> None:
        try:
            while data := source.recv(65536):
                time.sleep(after_s)
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(to))
            threading.Thread(target=carry, args=(client, server, 0), daemon=True).start()
            threading.Thread(target=carry, args=(server, client, answer_after_s), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listening.close()


def slowest_page(port: int, session: str, rounds: int) -> float:
    import http.client

    worst = 0.0
    for _ in range(rounds):
        for path in ("/", "/pipeline/", "/alerts/", "/api/v1/jobs/", "/readyz"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            began = time.monotonic()
            connection.request("GET", path, headers={"Cookie": f"weir_session={session}"})
            answer = connection.getresponse()
            answer.read()
            worst = max(worst, time.monotonic() - began)
            assert answer.status in (200, 503 if path == "/readyz" else 200), (path, answer.status)
            connection.close()
    return worst


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path / "site") as running:
        running.environment["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
        yield running


def freeze(site: Site) -> None:
    os.kill(site.redis.pid, signal.SIGSTOP)


def die(site: Site) -> None:
    kill(site.redis)


@contextmanager
def pages(site: Site, folder: Path, redis: Path) -> Iterator[tuple[int, str]]:
    """The web server over the site's database; its port, and the key of a session."""
    session = site.python(MAKE).split()[-1]
    variables = {"WEIR_DATABASE_URL": f"sqlite:///{site.home}/weir.sqlite3", "WEIR_REDIS_URL": f"unix://{redis}"}
    secrets = {name.upper(): (site.home / "secrets" / name).read_text() for name in ("secret_key", "field_keys")}
    variables |= {f"WEIR_{name}": value for name, value in secrets.items()}
    with serving(folder, **variables) as (port, _):
        yield port, session


@pytest.mark.parametrize("harm", [freeze, die])
def test_pages_and_saves_do_not_wait_for_redis(site: Site, tmp_path: Path, harm: Callable[[Site], None]) -> None:
    with pages(site, tmp_path, site.socket) as (port, session):
        slowest_page(port, session, 2)  # warm
        harm(site)
        assert slowest_page(port, session, 6) < WITHIN_S
        assert float(site.python(SAVE)) < WITHIN_S
        if harm is freeze:
            os.kill(site.redis.pid, signal.SIGCONT)


@pytest.mark.parametrize("answer_after_s", [0.1, 0.29, 1.0])
def test_a_slow_one_is_left_alone(site: Site, tmp_path: Path, answer_after_s: float) -> None:
    at = tmp_path / "slow.sock"
    with slow(site.socket, at, answer_after_s):
        site.environment["WEIR_REDIS_URL"] = f"unix://{at}"
        assert float(site.python(SAVE)) < WITHIN_S
        with pages(site, tmp_path, at) as (port, session):
            slowest_page(port, session, 1)  # warm
            assert slowest_page(port, session, 2) < WITHIN_S


def test_hints_arrive_again_once_it_answers(site: Site) -> None:
    script = SAVE.replace("print(max(took))", "") + (
        "import os, signal, time\n"
        f"os.kill({site.redis.pid}, signal.SIGSTOP)\n"
        "evaluation_hint.hint()\n"
        f"os.kill({site.redis.pid}, signal.SIGCONT)\n"
        f"time.sleep({breaker.OPEN_S + 1})\n"
        "hints.send(evaluation_hint.TASK, evaluation_hint.KEY)\n"
        "print('sent')\n"
    )
    assert site.python(script).split()[-1] == "sent"
    import redis

    queued = redis.Redis(unix_socket_path=str(site.socket)).llen("alerts")
    assert queued >= 11


def test_the_breaker_lets_one_try_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one = breaker.Breaker()
    monkeypatch.setattr(breaker, "OPEN_S", 0.2)
    with pytest.raises(OSError), one.watching():
        raise OSError
    assert not one.allows()
    wait_for(lambda: one.allows(), 5)
    assert not one.allows()
    with one.watching():
        pass
    assert one.allows()
    assert one.allows()
