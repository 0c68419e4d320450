"""``manage.py incident_report``."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.webapp.builders import T0
from tests.webapp.reports.stories import expiring, seen
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.reports.models import IncidentReport

pytestmark = pytest.mark.django_db


@pytest.fixture
def of():
    seen()
    return expiring()


def run(out: Path, *arguments: str) -> dict:
    told = StringIO()
    call_command("incident_report", "--out", str(out), "--json", *arguments, stdout=told)
    return json.loads(told.getvalue())


RANGE = ("--from", "2026-03-01T03:40:00Z", "--to", "2026-03-01T04:40:00Z")


def test_it_writes_what_was_asked_for_and_keeps_nothing(of, tmp_path):
    told = run(tmp_path / "out", "--cluster", of.cluster, "--job", of.job_id, *RANGE)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "report.html",
        "report.json",
    ]
    assert told["headline"].startswith("4 checkpoints expired")
    assert not IncidentReport.objects.exists()


def test_a_job_is_known_by_its_name_too_and_the_worst_of_a_cluster_without_any(of, tmp_path):
    assert run(tmp_path, "--cluster", of.cluster, "--job", "clickstream", *RANGE)[
        "title"
    ].startswith("clickstream")
    assert run(tmp_path, "--cluster", of.cluster, *RANGE)["title"].startswith("clickstream")


def test_an_alert_will_do_as_well(of, tmp_path):
    evaluate(T0)
    assert run(tmp_path, "--alert", Alert.objects.get(rule="pressure.root").uid)["tone"] == "crit"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name a job"),
        (["--cluster", "prod-eu", "--job", "nobody"], "No job nobody was ever seen"),
        (["--cluster", "nowhere"], "No job was ever seen on a cluster called nowhere."),
        (["--cluster", "a", "--cluster", "b", "--job", "c"], "Give one --job for each --cluster"),
        (["--alert", "alr_x"], "There is no alert alr_x."),
        (["--cluster", "prod-eu", "--from", "now", "--to", "now-1h"], "has to end after it starts"),
    ],
)
def test_what_makes_no_sense_is_refused_with_code_2(of, tmp_path, arguments, said):
    with pytest.raises(CommandError, match=said) as refused:
        run(tmp_path, *arguments)
    assert refused.value.returncode == 2
