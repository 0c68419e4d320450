"""``manage.py findings``: what the rules found."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.webapp.builders import T0, finding, job

pytestmark = pytest.mark.django_db

AGREED = (
    "rule",
    "severity",
    "confidence",
    "state",
    "cluster",
    "job_id",
    "job_name",
    "subject",
    "title",
    "evidence",
    "next_step",
    "first_seen",
    "last_seen",
)


@pytest.fixture(autouse=True)
def _findings(db: None) -> None:
    orders, other = job(at=T0, name="orders"), job("elsewhere", at=T0, name="other")
    finding(orders, "pressure.root", T0)
    finding(
        orders,
        "checkpoint.declined",
        T0,
        state="closed",
        severity="warning",
        closed_at=T0,
        lasted=timedelta(hours=1),
    )
    finding(other, "restart.loop", T0)


def printed(*options: str) -> list[str]:
    said = StringIO()
    call_command("findings", *options, stdout=said)
    return said.getvalue().splitlines()


def rules(*options: str) -> list[str]:
    return [json.loads(line)["rule"] for line in printed(*options)]


def test_each_finding_is_one_object_a_line_with_the_agreed_names_first() -> None:
    first = json.loads(printed()[0])
    assert tuple(first)[: len(AGREED)] == AGREED
    assert isinstance(first["evidence"], list)
    assert first["last_seen"].endswith("Z")


def test_closed_ones_are_listed_with_their_state() -> None:
    states = {json.loads(line)["rule"]: json.loads(line)["state"] for line in printed()}
    assert states == {
        "pressure.root": "open",
        "checkpoint.declined": "closed",
        "restart.loop": "open",
    }


def test_they_can_be_narrowed_by_cluster_job_rule_state_and_severity() -> None:
    assert rules("--cluster", "elsewhere") == ["restart.loop"]
    assert sorted(rules("--job", "orders")) == ["checkpoint.declined", "pressure.root"]
    assert rules("--rule", "pressure.root") == ["pressure.root"]
    assert rules("--state", "closed") == ["checkpoint.declined"]
    assert rules("--severity", "warning") == ["checkpoint.declined"]


@pytest.mark.parametrize("option", [("--cluster", "none"), ("--job", "none")])
def test_an_unknown_cluster_or_job_is_refused(option: tuple[str, str]) -> None:
    with pytest.raises(CommandError) as refused:
        printed(*option)
    assert refused.value.returncode == 2
