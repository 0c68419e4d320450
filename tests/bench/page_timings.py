"""Times pages in a process of its own: ``python -m tests.bench.page_timings JOBS [PEOPLE]``; prints
one JSON object.

Expects ``WEIR_DATABASE_URL`` to name an empty PostgreSQL database. With ``PEOPLE`` so many accounts
stay signed in, for who visits the pages of a server over this database.
"""

# ruff: noqa: E402 - Django must be set up before its models are imported
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

# Not those of the tests, which read pages once more to take white space out of them.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
os.environ["WEIR_REQUESTS_PER_MIN"] = "0"

import django

django.setup()

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment, teardown_test_environment
from django.utils import timezone

from tests.bench import paged_fleet
from tests.bench.paged_fleet import Size
from tests.bench.paged_requests import Asked, of_every_page
from tests.webapp.builders import person
from webapp.config.garbage import collect_garbage_rarely

ROUNDS = 5
"""Of each kind of request, at least; a page of few kinds is asked for ``LEAST`` times."""
LEAST = 40
PAGES_BEHIND = 5


def main(jobs: int, people: int) -> None:
    call_command("migrate", verbosity=0)
    now = timezone.now() + timedelta(
        minutes=60
    )  # filling takes a while; nothing may be stale by then
    size = Size(jobs, hosts=max(jobs // 10, 80), host_events=4 * jobs, closed=jobs * 6 // 5)
    asked = of_every_page(size, paged_fleet.fill(size, now))
    with connection.cursor() as cursor:
        # Rows of a month have been vacuumed.
        cursor.execute("VACUUM ANALYZE")
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(person())
    # As the web server does once it is there.
    collect_garbage_rarely()
    asked["fleet"] += pages_behind(client, "/", {"sort": "name"})
    print(
        json.dumps(
            figures(client, asked)
            | {
                "sessions": [signed_in(f"person-{number}") for number in range(people)],
                "paths": asked,
            }
        )
    )


def pages_behind(client: Client, path: str, parameters: dict[str, str]) -> list[Asked]:
    """The next five pages of a list."""
    found: list[Asked] = []
    setup_test_environment()
    for _ in range(PAGES_BEHIND):
        cursor = client.get(path, found[-1][1] if found else parameters).context["page"].next_cursor
        found.append((path, {**parameters, "cursor": cursor}))
    # It notes each template and context, which takes time.
    teardown_test_environment()
    return found


def figures(client: Client, asked: Mapping[str, Sequence[Asked]]) -> dict[str, Any]:
    """Of each page: p95 and the slowest kind of request, with nothing cached; and how many queries
    each page makes at most.
    """
    found: dict[str, Any] = {"p95_ms": {}, "slowest": {}, "queries": {}}
    for page, requests in asked.items():
        for path, parameters in requests:
            found["queries"][page] = max(
                found["queries"].get(page, 0), queries_of(client, path, parameters)
            )
        rounds = max(ROUNDS, -(-LEAST // len(requests)))
        times = [
            (timed(client, path, parameters), json.dumps([path, parameters]))
            for _ in range(rounds)
            for path, parameters in asked[page]
        ]
        found["p95_ms"][page] = p95([ms for ms, _ in times])
        found["slowest"][page] = _slowest(times)
    return found


def _slowest(times: Sequence[tuple[float, str]]) -> list[Any]:
    """The request whose quickest answer took longest."""
    best: dict[str, float] = {}
    for ms, request in times:
        best[request] = min(ms, best.get(request, ms))
    request, ms = max(best.items(), key=lambda one: one[1])
    return [ms, request]


def queries_of(client: Client, path: str, parameters: dict[str, str]) -> int:
    queries: list[str] = []

    def noted(execute: Any, sql: str, *more: Any) -> Any:
        queries.append(sql)
        return execute(sql, *more)

    with connection.execute_wrapper(noted):
        timed(client, path, parameters)
    return len(queries)


def timed(client: Client, path: str, parameters: dict[str, str]) -> float:
    """Milliseconds of server time, middleware and rendering included, with nothing cached."""
    cache.clear()
    started = time.perf_counter()
    answer = client.get(path, parameters)
    assert answer.status_code == 200, (path, parameters, answer.status_code)
    return (time.perf_counter() - started) * 1000


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def signed_in(name: str) -> str:
    """The cookie of somebody's session."""
    client = Client()
    client.force_login(person(name))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
