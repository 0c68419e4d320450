"""Real workers, a real Redis, a real PostgreSQL and a real receiver: whatever is killed, flushed or
cut, each notice arrives.

1,000 notices to ten endpoints. Workers are killed (-9) by the receiver itself: in the middle of a
POST, right after its answer (before or around the commit), and by the clock, which finds them
before a POST too.
"""

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgresql import NOT_FOR_POWER_CUTS, killed, migrated_database, postgresql
from tests.webapp.pipeline.site import Site, kill, wait_for

NOTICES, ENDPOINTS = 1_000, 10
MOST_AT_ONCE = 64
"""As in :mod:`webapp.delivery.sending`: no kill can double more than what is under way."""


class Counting:
    """Counts every id; :attr:`deeds` are done at the n-th POST, before or after its answer."""

    def __init__(self) -> None:
        self.ids: Counter[str] = Counter()
        self.alerts: set[str] = set()
        self.before: dict[int, Any] = {}
        self.after: dict[int, Any] = {}
        self.lock = threading.Lock()
        counting = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None: ...

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with counting.lock:
                    counting.ids[self.headers["webhook-id"]] += 1
                    counting.alerts |= {one["uid"] for one in body["data"]["alerts"]}
                    number = counting.ids.total()
                counting.before.pop(number, lambda: None)()
                self.send_response(204)
                self.end_headers()
                self.wfile.flush()
                counting.after.pop(number, lambda: None)()

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Delivering(Site):
    """A site on PostgreSQL with 1,000 notices in its outbox."""

    def __init__(self, home: Path, database_url: str, url: str) -> None:
        super().__init__(home)
        self.database_url = database_url
        self.environment |= {
            "WEIR_DATABASE_URL": database_url,
            "WEIR_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEIR_WEBHOOK_ALLOW_HTTP": "true",
        }
        filling = self.start(
            sys.executable,
            "-m",
            "tests.webapp.delivery.filled",
            url,
            str(NOTICES),
            str(ENDPOINTS),
            log="filling",
        )
        assert filling.wait(120) == 0, self.logs()

    def sender(self) -> "Any":
        self.worker_now = self.worker(f"w{len(self.processes)}", "alerts,default")
        return self.worker_now

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        # A connection that begins as all others are cut may be cut with them.
        with suppress(psycopg.errors.AdminShutdown):
            return self._rows(query)
        return self._rows(query)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def cut(self) -> None:
        """Every connection to the database but this one."""
        self.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database()"
        )


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with postgresql(NOT_FOR_POWER_CUTS) as found:
        yield found


@pytest.fixture
def counting() -> Iterator[Counting]:
    found = Counting()
    yield found
    found.server.shutdown()


@pytest.fixture
def site(
    tmp_path: Path, server: Any, counting: Counting, request: pytest.FixtureRequest
) -> Iterator[Delivering]:
    name = f"weir_{abs(hash(request.node.name))}"
    with Delivering(tmp_path / "home", migrated_database(server, name), counting.url) as found:
        yield found


def all_told(site: Delivering, counting: Counting) -> None:
    wait_for(
        lambda: site.count("delivery_delivery WHERE state <> 'delivered'") == 0,
        "the last delivery",
        120,
    )
    known = {uid for (uid,) in site.rows("SELECT uid FROM delivery_delivery")}
    assert len(known) == NOTICES
    assert set(counting.ids) == known
    assert counting.alerts == {f"alr_{number}" for number in range(NOTICES)}
    assert site.count("delivery_attempt") == NOTICES
    assert site.count("delivery_attempt WHERE number <> 1") == 0


@pytest.mark.long
def test_workers_killed_at_every_step_lose_nothing_and_ids_are_stable(
    site: Delivering, counting: Counting
) -> None:
    killed: list[int] = []

    def strike(delay_s: float = 0.0) -> None:
        time.sleep(delay_s)
        if site.worker_now.poll() is None:
            killed.append(site.worker_now.pid)
            kill(site.worker_now)

    counting.before[150] = strike  # after the POST, before its answer
    counting.after[350] = lambda: strike(
        random.uniform(0, 0.02)
    )  # after the answer, before, in or after the commit
    counting.after[550] = lambda: strike(random.uniform(0, 0.3))  # anywhere, before a POST too
    site.beat()
    site.sender()
    for expected in range(1, 4):
        wait_for(lambda expected=expected: len(killed) >= expected, f"kill {expected}", 90)
        site.sender()
    all_told(site, counting)
    doubled = sum(count - 1 for count in counting.ids.values())
    assert doubled <= len(killed) * MOST_AT_ONCE, doubled


@pytest.mark.long
def test_redis_flushed_and_killed_and_connections_cut_lose_and_double_nothing(
    site: Delivering, counting: Counting
) -> None:
    counting.after[100] = site.flush_redis
    counting.after[250] = site.cut
    counting.after[400] = site.restart_redis
    counting.before[550] = site.cut
    counting.after[700] = site.flush_redis
    counting.after[701] = site.cut
    site.beat()
    site.sender()
    all_told(site, counting)
    assert not counting.before
    assert not counting.after
    assert set(counting.ids.values()) == {1}


@pytest.mark.long
def test_a_database_killed_in_the_middle_and_restarted_loses_and_doubles_nothing(
    site: Delivering, counting: Counting, server: Any
) -> None:
    strikes = [threading.Event(), threading.Event()]

    def strike(number: int) -> None:
        with killed(server):
            time.sleep(2)
        strikes[number].set()

    counting.after[200] = lambda: strike(0)
    counting.before[500] = lambda: strike(1)
    site.beat()
    site.sender()
    assert all(done.wait(120) for done in strikes)
    all_told(site, counting)
    assert set(counting.ids.values()) == {1}
