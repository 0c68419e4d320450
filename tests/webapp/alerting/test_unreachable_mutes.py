"""A cluster that is not seen mutes its jobs only for those who hear that it is not seen."""

import pytest

from tests.webapp.alerting.builders import (
    T0,
    at,
    closed,
    look,
    looks,
    opened,
    somebody_listens,
    told,
    unreachable,
)
from tests.webapp.builders import cluster, person
from webapp.alerting import actions, setting_actions
from webapp.alerting.models import Alert
from webapp.delivery.models import Endpoint
from webapp.lib.matchers import parse_lines

pytestmark = pytest.mark.django_db
UNREACHABLE_ALONE = "rule=collect.blind"


@pytest.fixture(autouse=True)
def _one_of_three_is_dark(db) -> None:
    for name in ("prod-eu", "prod-us", "prod-asia"):
        cluster(name, at=T0)


def matching(lines: str) -> list[dict[str, str]]:
    return [one.as_json() for one in parse_lines(lines)]


def set_for_unreachable(**values: object) -> None:
    setting_actions.save("collect.blind", "", "", values, person(operator=True))


def a_critical_one_of_a_dark_cluster() -> None:
    opened(-5, rule="job.failed", severity="critical")
    unreachable(0)


def groups_told(to: Endpoint) -> list[str]:
    return sorted({notice.group for notice in told(to)})


def muted_by() -> str:
    return Alert.objects.get(rule="job.failed").muted_by


def silence_unreachable(since: float, until: float) -> None:
    actions.silence(
        parse_lines(UNREACHABLE_ALONE),
        at(since),
        at(until),
        "known",
        person(operator=True),
        at(since),
    )


def test_while_its_own_alert_is_pending_a_dark_cluster_mutes_nothing():
    on_call = somebody_listens()
    set_for_unreachable(hold_before_s=3_600)
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/job"]
    looks(3_600, 3_660)
    assert (
        groups_told(on_call) == ["prod-eu/collect", "prod-eu/job"] and muted_by() == "unreachable"
    )


def test_while_its_own_alert_is_muted_a_dark_cluster_mutes_nothing():
    on_call = somebody_listens()
    silence_unreachable(-10, 3_600)
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/job"]
    looks(3_600, 3_660)
    assert (
        groups_told(on_call) == ["prod-eu/collect", "prod-eu/job"] and muted_by() == "unreachable"
    )


def test_what_a_dark_cluster_muted_is_told_once_its_own_alert_is_silenced():
    on_call = somebody_listens()
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/collect"]
    silence_unreachable(600, 9_000)
    looks(601, 700)
    assert groups_told(on_call) == ["prod-eu/collect", "prod-eu/job"]


@pytest.mark.parametrize(
    "fields",
    [
        {"matchers": matching("family!=collect")},
        {"matchers": matching("job=orders")},
        {"min_severity": "critical"},
    ],
    ids=["of another family", "of a job", "of what is critical"],
)
def test_an_endpoint_that_does_not_hear_of_the_dark_cluster_hears_of_its_jobs(fields):
    somebody_listens()
    deaf = somebody_listens(**fields)
    set_for_unreachable(severity="warning")
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(deaf) == ["prod-eu/job"]


@pytest.mark.parametrize(
    "fields",
    [
        {"matchers": matching("cluster=prod-us")},
        {"matchers": matching("job=clicks")},
        {"enabled": False},
    ],
    ids=["of another cluster", "of another job", "disabled"],
)
def test_an_endpoint_that_hears_of_neither_keeps_no_dark_cluster_from_muting(fields):
    on_call = somebody_listens()
    somebody_listens(**fields)
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/collect"] and muted_by() == "unreachable"


def test_what_is_muted_is_told_when_an_endpoint_is_added_that_hears_of_it_alone():
    on_call = somebody_listens()
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/collect"]
    added = somebody_listens(matchers=matching("rule=job.failed"))
    looks(601, 700)
    assert groups_told(added) == ["prod-eu/job"]


def test_half_of_the_clusters_are_dark_also_where_the_alerts_of_some_are_silenced():
    on_call = somebody_listens()
    actions.silence(
        parse_lines("rule=collect.blind\ncluster=prod-us"),
        at(-10),
        at(9_000),
        "known",
        person(operator=True),
        at(-10),
    )
    unreachable(0, "prod-us")
    a_critical_one_of_a_dark_cluster()
    looks(1, 600)
    assert groups_told(on_call) == ["prod-eu/collect", "prod-eu/job"]


def test_what_was_critical_and_ended_in_the_dark_is_told_though_the_dark_cluster_is_silenced_then():
    on_call = somebody_listens()
    row = opened(-5, rule="job.failed", severity="critical")
    unreachable(0)
    look(1)
    assert muted_by() == "unreachable"
    closed(row, 60, last_seen=-5)
    looks(61, 300)
    silence_unreachable(300, 9_000)
    looks(301, 400)
    assert [notice.kind for notice in told(on_call) if notice.group == "prod-eu/job"] == [
        "resolved"
    ]
