"""Redis that is frozen, dead or slow: every page and every save answers in time, and what is due is
done later.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.attacks.scale import examples
from tests.selections import mostly_long
from tests.webapp.launch.test_front import serving, wait_for
from tests.webapp.pipeline.site import Site, kill
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
from webapp.work import broker, hints  # loaded before, as by a web server
took = []
for _ in range(5):
    began = time.monotonic()
    with transaction.atomic():
        evaluation_hint.wake()
        evaluation_hint.wake()
    took.append(time.monotonic() - began)
print(max(took))
"""


class Between:
    """Between a Redis and its clients: answers come as late as it says just then."""

    def __init__(self, to: Path, at: Path) -> None:
        self.at, self.answer_after_s = at, 0.0
        self._to = to
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(at))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._to))
            threading.Thread(
                target=self._carry, args=(client, server, lambda: 0.0), daemon=True
            ).start()
            threading.Thread(
                target=self._carry, args=(server, client, lambda: self.answer_after_s), daemon=True
            ).start()

    def _carry(
        self, source: socket.socket, target: socket.socket, after_s: Callable[[], float]
    ) -> None:
        try:
            while data := source.recv(65536):
                time.sleep(after_s())
                target.sendall(data)
        except OSError:
            pass
        finally:
            target.close()


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("redis") / "site") as running:
        running.environment["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
        yield running


@pytest.fixture(scope="module")
def session(site: Site) -> str:
    return site.python(MAKE).split()[-1]


@pytest.fixture(scope="module")
def direct(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a web server that asks Redis itself."""
    with pages(site, tmp_path_factory.mktemp("direct"), site.socket) as port:
        yield port


@pytest.fixture(scope="module")
def between(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Between]:
    between = Between(site.socket, tmp_path_factory.mktemp("between") / "slow.sock")
    yield between
    between.close()


@pytest.fixture(scope="module")
def behind(site: Site, between: Between, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of one whose answers go through what is between."""
    with pages(site, tmp_path_factory.mktemp("behind"), between.at) as port:
        yield port


@contextmanager
def pages(site: Site, folder: Path, redis: Path) -> Iterator[int]:
    """The web server over the site's database."""
    variables = {
        "WEIR_DATABASE_URL": f"sqlite:///{site.home}/weir.sqlite3",
        "WEIR_REDIS_URL": f"unix://{redis}",
    }
    secrets = {
        name.upper(): (site.home / "secrets" / name).read_text()
        for name in ("secret_key", "field_keys")
    }
    variables |= {f"WEIR_{name}": value for name, value in secrets.items()}
    with serving(folder, **variables) as (port, _):
        yield port


@contextmanager
def frozen(site: Site) -> Iterator[None]:
    os.kill(site.redis.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(site.redis.pid, signal.SIGCONT)


@contextmanager
def dead(site: Site) -> Iterator[None]:
    kill(site.redis)
    try:
        yield
    finally:
        site.restart_redis()


def warm(port: int, session: str) -> None:
    """Pages were made, and Redis was found to answer."""
    time.sleep(breaker.OPEN_S)
    slowest_page(port, session, 2)


@pytest.mark.parametrize("harmed", mostly_long([frozen, dead]))
def test_pages_and_saves_do_not_wait_for_redis(
    site: Site, session: str, direct: int, harmed: Callable[[Site], AbstractContextManager[None]]
) -> None:
    warm(direct, session)
    with harmed(site):
        assert slowest_page(direct, session, 6) < WITHIN_S
        assert float(site.python(SAVE)) < WITHIN_S


@pytest.mark.parametrize("answer_after_s", [0.29, 1.0, 0.1][: examples(1, 3)])
def test_a_slow_one_is_left_alone(
    site: Site,
    session: str,
    between: Between,
    behind: int,
    monkeypatch: pytest.MonkeyPatch,
    answer_after_s: float,
) -> None:
    warm(behind, session)
    monkeypatch.setattr(between, "answer_after_s", answer_after_s)
    monkeypatch.setitem(site.environment, "WEIR_REDIS_URL", f"unix://{between.at}")
    assert slowest_page(behind, session, 3) < WITHIN_S
    assert float(site.python(SAVE)) < WITHIN_S


def test_hints_arrive_again_once_it_answers(site: Site) -> None:
    site.flush_redis()
    script = SAVE.replace("print(max(took))", "") + (
        "import os, signal, time\n"
        f"os.kill({site.redis.pid}, signal.SIGSTOP)\n"
        "evaluation_hint.hint()\n"
        f"os.kill({site.redis.pid}, signal.SIGCONT)\n"
        f"time.sleep({breaker.OPEN_S + 1})\n"
        "import redis\n"
        f"queue = redis.Redis(unix_socket_path='{site.socket}')\n"
        "before = queue.llen('alerts')\n"
        "hints.send(evaluation_hint.TASK, evaluation_hint.KEY)\n"
        "print(queue.llen('alerts') - before)\n"
    )
    # How many came before depends on the machine: the breaker opens where Redis is slow, too.
    assert site.python(script).split()[-1] == "1"


def test_the_breaker_lets_one_try_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    one = breaker.Breaker("")
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
