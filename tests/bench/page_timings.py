"""Times pages in a process of its own: ``python -m tests.bench.page_timings JOBS``; prints one JSON object.

Expects ``WEIR_DATABASE_URL`` to name an empty PostgreSQL database.
"""

# ruff: noqa: E402 - Django must be set up before its models are imported
import json
import os
import sys
import time
from datetime import timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import setup_test_environment
from django.utils import timezone

from tests.webapp.builders import annotation, cluster, finding, job, person, unsaved_fact, unsaved_finding, unsaved_job, window
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.fleet.sorting import FLEET_SORTS

CLUSTERS = 200
ROUNDS = 40
MIXED_ROUNDS = 3
WEEK_OF_MINUTES = 7 * 24 * 60


def main(jobs: int) -> None:
    setup_test_environment()
    call_command("migrate", verbosity=0)
    now = timezone.now() + timedelta(minutes=30)  # filling takes a while; nothing may be stale by then
    fill_fleet(jobs, now)
    of = fill_week(now)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client()
    client.force_login(person())
    print(json.dumps({**fleet_figures(client), **job_figures(client, of)}))


def fill_fleet(jobs: int, now: Any) -> None:
    for number in range(CLUSTERS):
        seen = {} if number % 50 else {"blind_since": now}
        cluster(f"cluster-{number}", at=now, **seen)
    rows = [
        unsaved_job(
            f"cluster-{number % CLUSTERS}",
            at=now,
            name=f"team-{number % 97}-job-{number}",
            state="FAILED" if number % 1_000 == 7 else "FINISHED" if number % 10 == 3 else "RUNNING",
            terminal=number % 1_000 == 7 or number % 10 == 3,
            recent_failed=number % 17 if number % 20 == 0 else 0,
            state_bytes=None if number % 9 == 0 else number * 7_919 % 10**12,
            restarts=number % 13,
            pressured_share=number % 100 / 100,
            **_health(number),
        )
        for number in range(jobs)
    ]
    JobCurrent.objects.bulk_create(rows, batch_size=2_000)
    ill = [unsaved_finding(row, at=now, subject_id=str(number)) for row in rows if (row.health or 100) < 100 for number in range(3)]
    Finding.objects.bulk_create(ill, batch_size=2_000)


def _health(number: int) -> dict[str, Any]:
    """One job in twenty is ill, one in fifty cannot be judged."""
    if number % 1_000 == 7 or number % 10 == 3:
        return {}
    if number % 50 == 1:
        return {"health": None, "health_state": "unknown"}
    return {"health": number % 100} if number % 20 == 0 else {}


def fill_week(now: Any) -> JobCurrent:
    of = job("cluster-1", at=now, name="a week of checkpoints")
    for minute in range(WEEK_OF_MINUTES // 60):
        annotation(of, "restart", now - timedelta(hours=minute), f"restart {minute}")
    facts = [
        unsaved_fact(of, n, now - timedelta(minutes=WEEK_OF_MINUTES - n), outcome="expired" if n % 50 == 0 else "completed")
        for n in range(WEEK_OF_MINUTES)
    ]
    CheckpointFact.objects.bulk_create(facts, batch_size=2_000)
    for hour in range(48):
        finding(of, at=now - timedelta(hours=hour), state="open" if not hour else "closed")
    for vertex_id in ("v1", "v2", "v3", "v4"):
        window(of, vertex_id, now - timedelta(minutes=1))
    return of


def fleet_figures(client: Client) -> dict[str, float]:
    """The plain page with nothing cached, and all kinds of it mixed: sorted, paged, filtered, searched."""
    mixed = [{"sort": f"{sign}{name}"} for name in FLEET_SORTS for sign in ("", "-")]
    mixed += [{"status": "failed"}, {"status": "unknown"}, {"cluster": "cluster-3"}, {"failing": "1"}, {"health": "poor"}]
    mixed += [{"q": "team-33-"}, {"q": "nothing-like-it"}]
    next_page = client.get("/", {"sort": "name"}).context["page"].next_cursor
    for _ in range(5):
        mixed.append({"sort": "name", "cursor": next_page})
        next_page = client.get("/", mixed[-1]).context["page"].next_cursor
    cache.clear()
    queries: list[str] = []

    def noted(execute: Any, sql: str, *more: Any) -> Any:
        queries.append(sql)
        return execute(sql, *more)

    with connection.execute_wrapper(noted):
        client.get("/")
    plain = [timed(client, "/", {}, cold=True) for _ in range(ROUNDS)]
    others = [timed(client, "/", parameters, cold=False) for _ in range(MIXED_ROUNDS) for parameters in mixed]
    print(json.dumps(queries), file=sys.stderr)
    return {"queries": len(queries), "plain_p95_ms": p95(plain), "mixed_p95_ms": p95(others)}


def job_figures(client: Client, of: JobCurrent) -> dict[str, float]:
    base = f"/jobs/{of.cluster}/{of.job_id}/"
    week = {"from": "now-7d"}
    paths = {"job": base, "timeline": f"{base}charts/checkpoints", "size": f"{base}charts/size"}
    for path in paths.values():
        timed(client, path, week, cold=True)
    return {f"{name}_p95_ms": p95([timed(client, path, week, cold=True) for _ in range(ROUNDS)]) for name, path in paths.items()}


def timed(client: Client, path: str, parameters: dict[str, str], *, cold: bool) -> float:
    """Milliseconds of server time, middleware and rendering included."""
    if cold:
        cache.clear()
    started = time.perf_counter()
    answer = client.get(path, parameters)
    assert answer.status_code == 200, (path, parameters, answer.status_code)
    return (time.perf_counter() - started) * 1000


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


if __name__ == "__main__":
    main(int(sys.argv[1]))
