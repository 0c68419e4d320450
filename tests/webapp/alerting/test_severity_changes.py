"""One finding whose severity falls and rises again: every rise that is news is told, and flapping
is not.
"""

import pytest

from tests.webapp.alerting.builders import (
    at,
    closed,
    kinds,
    look,
    looks,
    opened,
    somebody_listens,
    the_alert,
    told,
)
from tests.webapp.builders import person
from webapp.alerting import actions, incident_actions, setting_actions
from webapp.alerting.models import Alert
from webapp.findings import marks
from webapp.findings.choices import SEVERITY_RANK
from webapp.findings.models import Finding
from webapp.incidents.models import Incident
from webapp.lib.matchers import parse_lines

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _on_call(db: None) -> None:
    somebody_listens()


def becomes(severity: str, seconds: float, of: Finding | None = None) -> None:
    """The only finding, if none is given, as a rule would write it, and the look after it."""
    row = of or Finding.objects.get()
    before = marks.FindingMark.of(row)
    row.severity, row.severity_rank, row.last_seen = severity, SEVERITY_RANK[severity], at(seconds)
    marks.save(row, before)
    look(seconds)


def told_critical_and_fell_to_a_warning_at(seconds: float) -> None:
    opened(0, severity="critical")
    looks(15, 60)
    assert kinds() == ["firing"]
    becomes("warning", seconds)


def acknowledge_alert(seconds: float) -> None:
    actions.acknowledge([the_alert().uid], person(operator=True), "a warning, later", at(seconds))


def acknowledge_incident(seconds: float) -> None:
    incident_actions.acknowledge(
        Incident.objects.get(), person(operator=True), "a warning, later", at(seconds)
    )


def test_what_was_a_warning_for_an_hour_and_is_critical_again_is_told_again():
    told_critical_and_fell_to_a_warning_at(200)
    looks(215, 3_600, 60)
    assert kinds() == ["firing"]
    becomes("critical", 3_700)
    looks(3_715, 4_100)
    assert kinds() == ["firing", "changed"] and told()[1].alerts[0].severity == "critical"


def test_it_is_told_though_nothing_was_looked_at_while_it_was_a_warning():
    told_critical_and_fell_to_a_warning_at(200)
    becomes("critical", 3_700)
    looks(3_715, 4_100)
    assert kinds() == ["firing", "changed"]


@pytest.mark.parametrize("acknowledge", [acknowledge_alert, acknowledge_incident])
@pytest.mark.parametrize("warning_for_s", [60, 3_600])
def test_what_was_acknowledged_as_a_warning_is_told_when_it_is_critical_again(
    acknowledge, warning_for_s
):
    told_critical_and_fell_to_a_warning_at(200)
    acknowledge(200 + warning_for_s / 2)
    becomes("critical", 200 + warning_for_s)
    looks(215 + warning_for_s, 600 + warning_for_s)
    assert kinds() == ["firing", "changed"] and the_alert().is_acknowledged


def test_what_was_acknowledged_as_critical_is_not_told_again_for_a_minute_as_a_warning():
    opened(0, severity="critical")
    looks(15, 60)
    acknowledge_alert(100)
    becomes("warning", 200)
    becomes("critical", 260)
    looks(275, 3_600, 60)
    assert kinds() == ["firing"]


def test_an_acknowledgement_takes_no_notice_of_a_rise_away_that_waits_for_its_group():
    opened(0)
    looks(15, 60)
    becomes("critical", 90)
    acknowledge_alert(100)
    looks(105, 600)
    assert kinds() == ["firing", "changed"]


def flaps(every_s: int, until: int, first: str, then: str) -> None:
    """With four looks between two changes."""
    for number, second in enumerate(range(every_s, until, every_s)):
        looks(second - every_s + 15, second - 1, every_s // 4)
        becomes((then, first)[number % 2], second)


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [("critical", "warning", ["firing"]), ("warning", "critical", ["firing", "changed"])],
)
@pytest.mark.long
def test_a_severity_that_flaps_every_minute_for_two_hours_is_told_once(first, then, expected):
    opened(0, severity=first)
    flaps(60, 7_200, first, then)
    assert kinds() == expected


def test_what_is_critical_every_twenty_minutes_is_told_each_time():
    opened(0, severity="critical")
    flaps(1_200, 7_300, "critical", "warning")
    looks(7_215, 7_600)
    assert kinds() == ["firing", "changed", "changed", "changed"]


def test_a_silence_in_between_makes_no_rise_be_told_twice_nor_never():
    told_critical_and_fell_to_a_warning_at(200)
    actions.silence(
        parse_lines("job=orders"), at(210), at(3_000), "known", person(operator=True), at(210)
    )
    looks(215, 3_100, 60)
    becomes("critical", 3_400)
    looks(3_415, 4_500)
    assert kinds() == ["firing", "firing", "changed"]


def test_what_was_acknowledged_with_the_incident_that_it_joined_as_a_warning_is_told_when_it_is_critical_again():
    lost = {"rule": "restart.loop", "data": {"lost_taskmanagers": ["tm-7"]}}
    setting_actions.save(
        "restart.loop",
        "",
        "",
        {"hold_after_s": 86_400},
        person("olga", operator=True),
    )
    row = opened(0, rule="restart.loop", severity="critical")
    looks(15, 60)
    closed(row, 70)
    later = 12 * 3_600
    opened(later, "clicks", **lost)
    look(later + 15)
    incident_actions.acknowledge(
        Incident.objects.get(job_name="clicks"), person(operator=True), "", at(later + 20)
    )
    row = opened(later + 25, **lost)
    looks(later + 30, later + 400)
    orders, before = Alert.objects.get(job_name="orders"), len(told())
    assert orders.is_acknowledged and orders.severity == "warning"
    becomes("critical", later + 415, row)
    looks(later + 430, later + 900)
    assert [notice.changed for notice in told()[before:]] == [{orders.uid}]
