"""``/metrics/jobs`` and annotations: what Weir knows of jobs, for Prometheus and Grafana."""

import json
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tests.webapp.builders import cluster, finding, job, person, window
from tests.webapp.monitoring.exposed import asked_by, labels_by_name
from tests.webapp.monitoring.prometheus import running_prometheus, until
from tests.weir_settings import WeirSettings
from webapp.accounts.models import ApiToken
from webapp.fleet.models import JobCurrent
from webapp.growth.models import Objective, ObjectiveRecord
from webapp.lib.grants import as_json, parse
from webapp.site.views.monitoring import FOLDER

pytestmark = pytest.mark.django_db
PROMTOOL = shutil.which("promtool")
needs_prometheus = pytest.mark.skipif(
    not (PROMTOOL and shutil.which("prometheus")),
    reason="needs prometheus and promtool, which .ci/run installs",
)
LINE = re.compile(r"^(weir_job_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


def token_of(name: str, sees: str = "") -> dict[str, str]:
    grants = as_json(parse(sees)) if sees else None
    token = ApiToken.objects.issue(person(name), "scrape", sees=grants)[1]
    return {"Authorization": f"Bearer {token}"}


def scraped(headers: dict[str, str]) -> str:
    answer = Client().get("/metrics/jobs", headers=headers)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def samples(text: str) -> dict[tuple[str, str], float]:
    """By metric and name of the job."""
    return {
        (name, re.search(r'job_name="([^"]*)"', labels)[1]): float(value)  # type: ignore[index]
        for name, labels, value in LINE.findall(text)
    }


def reports_lag(of: JobCurrent) -> None:
    at = timezone.now() - timedelta(minutes=1)
    window(of, "a", at, pending_records=40.0, emit_lag_ms=3_000.0)


def burns(of: JobCurrent) -> None:
    at = timezone.now()
    promise = Objective.objects.create(name="up", kind="availability", target=0.999, set_at=at)
    ObjectiveRecord.objects.create(
        objective=promise,
        cluster=of.cluster,
        job_id=of.job_id,
        first_attempt_id=of.first_attempt_id,
        job_name=of.name,
        burn=3.5,
        burn_over_min=60,
        budget_left=-0.5,
        as_of=at,
    )


def test_a_running_job_has_its_health_recovery_point_and_sizes() -> None:
    now = timezone.now()
    cluster("prod", at=now, labels={"team": "payments"})
    job(
        "prod",
        at=now,
        name="orders",
        health=60,
        health_state="judged",
        last_completed_at=now - timedelta(seconds=90),
        last_completed_ms=2_500,
        state_bytes=7,
    )
    text = scraped(token_of("prometheus"))
    known = samples(text)

    assert known["weir_job_seen", "orders"] == 1
    assert known["weir_job_health", "orders"] == 60
    assert 90 <= known["weir_job_recovery_point_age_seconds", "orders"] < 120
    assert known["weir_job_checkpoint_duration_seconds", "orders"] == 2.5
    assert known["weir_job_state_bytes", "orders"] == 7
    assert 'team="payments"' in text


def test_nothing_is_exposed_of_a_job_that_cannot_be_seen() -> None:
    now = timezone.now()
    cluster("prod", at=now - timedelta(hours=9))
    job("prod", at=now - timedelta(hours=9), name="orders", health=60, health_state="judged")
    known = samples(scraped(token_of("prometheus")))

    assert known == {("weir_job_seen", "orders"): 0}


def test_source_lag_is_that_of_the_newest_windows_and_missing_where_nobody_reports_it() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    orders, quiet = job("prod", at=now, name="orders"), job("prod", at=now, name="quiet")
    for vertex, minutes_ago, records, lag_ms in (
        ("a", 2, 900.0, 90_000.0),
        ("a", 1, 40.0, 3_000.0),
        ("b", 1, 2.0, None),
        ("c", 30, 7_000.0, 700_000.0),
    ):
        window(
            orders,
            vertex,
            now - timedelta(minutes=minutes_ago),
            pending_records=records,
            emit_lag_ms=lag_ms,
        )
    window(quiet, "a", now - timedelta(minutes=1))
    known = samples(scraped(token_of("prometheus")))

    assert known["weir_job_source_pending_records", "orders"] == 42
    assert known["weir_job_source_lag_seconds", "orders"] == 3
    assert ("weir_job_source_pending_records", "quiet") not in known
    assert ("weir_job_source_lag_seconds", "quiet") not in known


def test_findings_are_counted_by_rule_and_severity() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    orders = job("prod", at=now, name="orders")
    for subject in ("v1", "v2"):
        finding(orders, rule="pressure.root", subject_id=subject, severity="critical", at=now)
    text = scraped(token_of("prometheus"))

    assert samples(text)["weir_job_findings", "orders"] == 2
    assert 'rule="pressure.root",severity="critical"} 2' in text


def test_only_jobs_of_the_own_clusters_are_exposed() -> None:
    now = timezone.now()
    for name in ("prod", "other"):
        cluster(name, at=now)
        job(name, at=now, name=f"of-{name}")
    text = scraped(token_of("scoped", sees='cluster="prod"'))

    assert {name for _, name in samples(text)} == {"of-prod"}
    assert Client().get("/metrics/jobs").status_code == 401


def test_series_are_bounded_and_what_is_left_out_is_counted(weir: WeirSettings) -> None:
    now = timezone.now()
    cluster("prod", at=now)
    for number in range(3):
        job("prod", at=now, name=f"job-{number}")
    weir(metrics_most_jobs=2)
    text = scraped(token_of("prometheus"))

    assert len({name for _, name in samples(text)}) == 2
    assert "weir_job_metrics_left_out 1" in text


def test_the_worst_jobs_are_exposed_where_not_all_fit(weir: WeirSettings) -> None:
    now = timezone.now()
    for name, health in (("a", 100), ("b", None), ("c", 40), ("d", 90)):
        cluster(name, at=now)
        state = "unknown" if health is None else "judged"
        job(name, at=now, name=f"of-{name}", health=health, health_state=state)
    weir(metrics_most_jobs=2)

    assert {name for _, name in samples(scraped(token_of("prometheus")))} == {"of-c", "of-d"}


def test_jobs_that_share_a_name_at_one_time_keep_series_of_their_own() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    for job_id in ("a" * 32, "b" * 32):
        job("prod", at=now, name="orders", job_id=job_id, start_time=now - timedelta(hours=1))
    names = {name for _, name in samples(scraped(token_of("prometheus")))}

    assert names == {"orders (aaaaaaaa)", "orders (bbbbbbbb)"}


def test_queries_do_not_grow_with_jobs(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    now, headers = timezone.now(), token_of("prometheus")
    cluster("prod", at=now)
    for number in range(9):
        finding(job("prod", at=now, name=f"job-{number}"), at=now)
    scraped(headers)
    with django_assert_num_queries(9):
        scraped(headers)


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "weir-jobs.rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    """Of all panels of the dashboard, with its variables filled in."""
    panels = json.loads((FOLDER / "weir-jobs-dashboard.json").read_text())["panels"]
    return [
        target["expr"].replace("$cluster", ".*").replace("$team", ".*")
        for panel in panels
        for target in panel["targets"]
    ]


@needs_prometheus
def test_rules_fire_when_they_should() -> None:
    cases = Path(__file__).parent / "weir-jobs.rules.test.yml"
    done = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(cases)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_prometheus
def test_a_real_prometheus_scrapes_the_jobs_and_answers_the_dashboard_and_the_rules(
    transactional_db: None, live_server: Any, tmp_path: Path
) -> None:
    now = timezone.now()
    cluster("prod", at=now, labels={"team": "payments"})
    orders = job("prod", at=now, name="orders", orphan_bytes=5)
    finding(orders, rule="restart.loop", severity="critical", at=now)
    reports_lag(orders)
    burns(orders)
    target = live_server.url.removeprefix("http://")
    scrape = {
        "job_name": "weir-jobs",
        "metrics_path": "/metrics/jobs",
        "authorization": {"credentials": token_of("prometheus")["Authorization"].split()[1]},
        "static_configs": [{"targets": [target]}],
    }
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(FOLDER / "weir-jobs.rules.yml")],
        "scrape_configs": [scrape],
    }
    with running_prometheus(configuration, tmp_path) as asked:

        def answer(query: str) -> list[dict[str, Any]]:
            data = asked(f"query?{urlencode({'query': query})}")
            return data["result"] if data else []

        until(lambda: bool(answer("weir_job_health")))
        until(
            lambda: any(
                alert["labels"]["alertname"] == "FlinkJobCritical"
                for alert in (asked("alerts") or {"alerts": ()})["alerts"]
            )
        )
        empty = [query for query in queries() if not answer(query)]
        health = {rule["health"] for group in asked("rules")["groups"] for rule in group["rules"]}
        (shown,) = answer("weir_job_health")

    assert (shown["metric"]["job_name"], shown["metric"]["team"]) == ("orders", "payments")
    assert health == {"ok"}
    # It has not restarted within these seconds.
    assert [query for query in empty if "increase(" not in query] == []


def test_rules_and_dashboard_ask_for_what_is_exposed() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    orders = job("prod", at=now, orphan_bytes=5)
    finding(orders, at=now)
    reports_lag(orders)
    burns(orders)
    exposed = labels_by_name(scraped(token_of("prometheus")))
    asked = [*(rule["expr"] for rule in rules()), *queries()]

    assert [
        (name, labels)
        for expression in asked
        for name, labels in asked_by(expression)
        if not labels <= exposed.get(name, {"missing"})
    ] == []
    assert {name for expression in asked for name, _ in asked_by(expression)} == set(exposed)


@pytest.mark.parametrize("name", ["weir-jobs.rules.yml", "weir-jobs-dashboard.json"])
def test_rules_and_dashboard_are_downloaded(viewer: Client, name: str) -> None:
    assert viewer.get(f"/monitoring/{name}").content == (FOLDER / name).read_bytes()
    assert viewer.get("/monitoring/views.py").status_code == 404


@needs_prometheus
def test_promtool_reads_the_answer() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    finding(job("prod", at=now, name='odd "name" \\ \n'), at=now)
    done = subprocess.run(
        [str(PROMTOOL), "check", "metrics"],
        input=scraped(token_of("prometheus")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


def test_the_list_of_findings_takes_the_time_range_as_grafana_writes_it() -> None:
    now = timezone.now()
    cluster("prod", at=now)
    orders = job("prod", at=now, name="orders")
    finding(orders, rule="pressure.root", at=now - timedelta(hours=1))
    finding(orders, rule="restart.loop", at=now - timedelta(days=3))
    shown = {
        "from": (now - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "to": now.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
    }
    headers = token_of("grafana")
    answer = Client().get("/api/v1/findings/", {"state": "any", **shown}, headers=headers)

    assert [row["rule"] for row in answer.json()["results"]] == ["pressure.root"]
