"""Alert rules and the dashboard about Weir itself: by promtool, and by a real Prometheus that
scrapes a real server.
"""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from django.test import Client
from django.utils import timezone

from tests.webapp.builders import cluster, job, person
from tests.webapp.monitoring.exposed import asked_by, labels_by_name
from tests.webapp.monitoring.prometheus import running_prometheus
from tests.webapp.storage.builders import ROOT, audit, root_figures
from webapp.accounts.models import ApiToken
from webapp.delivery.choices import DeliveryState
from webapp.site.views.monitoring import FOLDER
from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork, KeptSize, PipelineRun

RULES = FOLDER / "weir.rules.yml"
DASHBOARD = FOLDER / "weir-dashboard.json"
CASES = Path(__file__).parent / "weir.rules.test.yml"
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
needs_prometheus = pytest.mark.skipif(
    not (PROMTOOL and PROMETHEUS), reason="needs prometheus and promtool, which .ci/run installs"
)


def rules() -> list[dict[str, Any]]:
    return [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def targets() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each with its panel."""
    return [(panel, target) for panel in panels() for target in panel.get("targets", ())]


def queries() -> list[str]:
    """Of all panels, as Grafana sends them."""
    return [target["expr"].replace("$job", "weir") for _, target in targets()]


def promtool(*words: str, given: str = "") -> str:
    done = subprocess.run(
        [str(PROMTOOL), *words], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def troubled(db: None) -> str:
    """An installation of which every metric tells something; returns a token that may read them."""
    now = timezone.now()
    cluster(at=now)
    job(at=now)
    root_figures(audit(as_of=now))
    StorageRoot.objects.create(uri=ROOT)
    KeptSize.objects.create(area="pushed", size_bytes=1, as_of=now)
    PipelineRun.objects.create(
        kind="spark", key="spark/cycle", attempt="a", state="failed", started_at=now
    )
    DueWork.objects.ensure({"spark/cycle": 8, "collect/0": 8}, now - timedelta(hours=1))
    DueWork.objects.filter(key="collect/0").update(failures=3)
    DueWork.objects.update(
        last_started_at=now - timedelta(hours=1), last_finished_at=now, last_success_at=now
    )
    return str(ApiToken.objects.issue(person("prometheus"), "scrape")[1])


def scraped(token: str) -> str:
    return Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).content.decode()


@needs_prometheus
def test_rules_are_ones_that_prometheus_takes_and_fire_when_they_should() -> None:
    promtool("check", "rules", str(RULES))
    promtool("test", "rules", str(CASES))


def test_every_rule_has_a_case_where_it_fires_and_one_where_it_does_not() -> None:
    told = [
        check
        for case in yaml.safe_load(CASES.read_text())["tests"]
        for check in case["alert_rule_test"]
    ]
    names = {rule["alert"] for rule in rules()}
    assert {check["alertname"] for check in told if check.get("exp_alerts")} == names
    assert {check["alertname"] for check in told if not check.get("exp_alerts")} == names


def test_every_rule_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule["alert"]
        assert all(
            rule["annotations"].get(name) for name in ("summary", "description", "next_step")
        ), rule["alert"]


@pytest.mark.parametrize("where", ["rules", "dashboard"])
def test_what_is_asked_for_is_told_by_a_troubled_weir(troubled: str, where: str) -> None:
    told = labels_by_name(scraped(troubled))
    for expression in queries() if where == "dashboard" else [rule["expr"] for rule in rules()]:
        for name, labels in asked_by(expression):
            assert name in told and labels <= told[name], f"{name} with {labels} in {expression}"


def test_what_queries_group_by_and_legends_name_are_labels_of_their_metrics(troubled: str) -> None:
    told = labels_by_name(scraped(troubled))
    for panel, target in targets():
        labels = set().union(*(told[name] for name, _ in asked_by(target["expr"])))
        grouped = {
            label.strip()
            for names in re.findall(r"\bby \(([^)]*)\)", target["expr"])
            for label in names.split(",")
        }
        assert grouped <= labels, panel["title"]
        assert set(LEGEND.findall(target["legendFormat"])) <= grouped, panel["title"]


def test_states_that_queries_choose_by_are_ones_there_are() -> None:
    there = {"weir_deliveries": DeliveryState.values}
    chosen = [
        (name, values)
        for query in queries()
        for name, values in re.findall(r'(weir_\w+)\{[^}]*\bstate(?:=~|!=|=)"([^"]*)"', query)
    ]
    assert {name for name, _ in chosen} == set(there)
    assert [
        value for name, values in chosen for value in values.split("|") if value not in there[name]
    ] == []


@needs_prometheus
@pytest.mark.parametrize(
    ("series", "shown"), [({"weir_up": 1}, [0.0]), ({"weir_up": 0}, []), ({}, [])]
)
def test_that_there_are_no_problems_is_said_only_by_a_weir_that_knows(
    series: dict[str, int], shown: list[float], tmp_path: Path
) -> None:
    """While its database is away it tells of none, and while it is not there at all nobody does."""
    (query,) = (
        target["expr"].replace("$job", "weir")
        for panel, target in targets()
        if panel["title"] == "Problems"
    )
    told = [
        {"series": f'{name}{{job="weir"}}', "values": f"{value} {value}"}
        for name, value in series.items()
    ]
    samples = [{"labels": "{}", "value": value} for value in shown]
    case = {
        "interval": "1m",
        "input_series": told,
        "promql_expr_test": [{"expr": query, "eval_time": "1m", "exp_samples": samples}],
    }
    (tmp_path / "case.yml").write_text(yaml.safe_dump({"rule_files": [], "tests": [case]}))
    promtool("test", "rules", str(tmp_path / "case.yml"))


def test_no_metric_is_left_out_of_the_dashboard(troubled: str) -> None:
    shown = {name for expression in queries() for name, _ in asked_by(expression)}
    of_rules = {name for rule in rules() for name, _ in asked_by(rule["expr"])}
    assert set(labels_by_name(scraped(troubled))) <= shown | of_rules


@needs_prometheus
def test_queries_of_the_dashboard_and_the_answer_are_ones_that_prometheus_reads(
    troubled: str, tmp_path: Path
) -> None:
    recorded = [
        {"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries())
    ]
    (tmp_path / "panels.yml").write_text(
        yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]})
    )
    promtool("check", "rules", str(tmp_path / "panels.yml"))
    assert promtool("check", "metrics", given=scraped(troubled)) == ""


def test_panels_have_ids_of_their_own_lie_beside_each_other_and_take_the_chosen_source() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
        assert panel["type"] == "row" or {
            target["datasource"]["uid"] for target in panel["targets"]
        } == {"${datasource}"}, panel["title"]


def test_both_are_downloaded_from_the_page_of_the_pipeline(viewer: Client) -> None:
    page = viewer.get("/pipeline/").content.decode()
    for file in (RULES, DASHBOARD):
        assert f'href="/monitoring/{file.name}"' in page
        answer = viewer.get(f"/monitoring/{file.name}")
        assert answer.content == file.read_bytes() and file.name in answer["Content-Disposition"]


@pytest.fixture
def prometheus(
    transactional_db: None, troubled: str, live_server: Any, tmp_path: Path
) -> Iterator[Callable[[str], Any]]:
    """Asks a Prometheus that scrapes the troubled Weir as ``weir`` and knows the rules."""
    configuration = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {
                "job_name": "weir",
                "authorization": {"credentials": troubled},
                "static_configs": [{"targets": [live_server.url.removeprefix("http://")]}],
            }
        ],
    }
    with running_prometheus(configuration, tmp_path) as asked:
        yield asked


@needs_prometheus
def test_a_real_prometheus_scrapes_it_and_evaluates_each_rule(
    prometheus: Callable[[str], Any],
) -> None:
    give_up = time.monotonic() + 60
    found: list[dict[str, Any]] = []
    while time.monotonic() < give_up:
        found = [
            rule
            for group in (prometheus("rules") or {"groups": ()})["groups"]
            for rule in group["rules"]
        ]
        if any(rule["name"] == "WeirWorkFailing" and rule["alerts"] for rule in found):
            break
        time.sleep(0.2)
    assert {rule["health"] for rule in found} == {"ok"} and len(found) == len(rules())
    active = {rule["name"]: rule["alerts"] for rule in found if rule["alerts"]}
    assert set(active) == {"WeirNotScheduling", "WeirWorkFailing", "WeirWorkWaits"}
    assert (
        active["WeirWorkFailing"][0]["annotations"]["description"]
        == "collect/0 failed 3 times in a row."
    )


@needs_prometheus
def test_a_real_prometheus_answers_each_panel_with_the_labels_of_its_legend(
    prometheus: Callable[[str], Any],
) -> None:
    """As Grafana asks it: the variable first, then each query with its value."""
    (of_job,) = (
        one
        for one in json.loads(DASHBOARD.read_text())["templating"]["list"]
        if one["name"] == "job"
    )
    metric, label = re.fullmatch(
        r"label_values\((\w+), "
        r"(\w+)\)",
        of_job["definition"],
    ).groups()  # type: ignore[union-attr]
    give_up = time.monotonic() + 60
    while (
        not prometheus("query?query=weir_work_failures")
        or not prometheus("query?query=weir_work_failures")["result"]
    ):
        assert time.monotonic() < give_up
        time.sleep(0.2)
    assert prometheus(f"label/{label}/values?match[]={metric}") == ["weir"]
    empty = []
    for panel, target in targets():
        told = prometheus("query?" + urlencode({"query": target["expr"].replace("$job", "weir")}))[
            "result"
        ]
        empty += [] if told else [target["expr"]]
        for series in told:
            assert all(
                series["metric"].get(name) for name in LEGEND.findall(target["legendFormat"])
            ), panel["title"]
    assert [
        query
        for query in empty
        if not re.search("collected|spark_timestamp|loaded|disk|> 0", query)
    ] == []
