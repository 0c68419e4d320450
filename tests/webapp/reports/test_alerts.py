"""What reports contain of alerts."""

import pytest

from tests.webapp.alerting.builders import at, closed, look, looks, opened, unreachable
from tests.webapp.builders import person
from webapp.alerting import actions
from webapp.alerting.models import Alert
from webapp.reports.gathering.alerts import gathered
from webapp.reports.gathering.scope import JobKey, ReportScope

pytestmark = pytest.mark.django_db


def of(row, start, end):
    rows, left_out = gathered(ReportScope((JobKey(row.cluster, row.job_id),), at(start), at(end)))
    assert left_out == 0
    return rows


def test_alerts_of_the_range_come_with_who_acknowledged_them():
    row = opened(0)
    look(30)
    actions.acknowledge([Alert.objects.get().uid], person("olga", operator=True), "INC-7", at(60))
    closed(row, 120)
    looks(135, 400)
    (one,) = of(row, 0, 600)
    assert (one.rule, one.state, one.acknowledged_by, one.comment) == (
        "checkpoint.declined",
        "resolved",
        "olga",
        "INC-7",
    )
    assert (one.starts_at, one.resolved_at) == (at(0), at(120))
    kinds = list(Alert.objects.get().events.values_list("kind", flat=True))
    assert kinds == ["fired", "notified", "acknowledged", "quiet", "resolved", "notified"]


def test_a_cluster_that_was_not_seen_belongs_to_the_story_of_each_of_its_jobs():
    row = opened(0)
    unreachable(0)
    look(30)
    assert [one.rule for one in of(row, 0, 60)] == ["checkpoint.declined", "collect.blind"]


def test_other_jobs_and_other_times_are_left_out():
    row = opened(1_000)
    opened(1_000, "clicks")
    look(1_030)
    assert of(row, 0, 500) == ()
    assert len(of(row, 0, 1_500)) == 1
