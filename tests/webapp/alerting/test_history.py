"""What reports read of alerts."""

import pytest

from tests.webapp.alerting.builders import at, blind, closed, look, looks, opened
from tests.webapp.builders import person
from webapp.alerting import actions
from webapp.alerting.history import history
from webapp.alerting.models import Alert

pytestmark = pytest.mark.django_db


def test_alerts_of_the_range_are_told_with_who_acknowledged_them():
    row = opened(0)
    look(30)
    actions.acknowledge([Alert.objects.get().uid], person("olga", operator=True), "INC-7", at(60))
    closed(row, 120)
    looks(135, 400)
    (told,) = history([(row.cluster, row.job_id)], at(0), at(600))
    assert (told["rule"], told["state"], told["acknowledged_by"], told["acknowledge_comment"]) == (
        "checkpoint.declined", "resolved", "olga", "INC-7",
    )  # fmt: skip
    assert (told["starts_at"], told["ends_at"]) == (at(0), at(120))
    assert [event["kind"] for event in told["events"]] == ["fired", "told", "acknowledged", "quiet", "resolved", "told"]


def test_a_cluster_that_was_not_seen_belongs_to_the_story_of_each_of_its_jobs():
    row = opened(0)
    blind(0)
    look(30)
    assert [one["rule"] for one in history([(row.cluster, row.job_id)], at(0), at(60))] == ["checkpoint.declined", "collect.blind"]


def test_other_jobs_and_other_times_are_left_out():
    row = opened(1_000)
    opened(1_000, "clicks")
    look(1_030)
    assert history([(row.cluster, row.job_id)], at(0), at(500)) == []
    assert len(history([(row.cluster, row.job_id)], at(0), at(1_500))) == 1
    assert len(history(None, at(0), at(1_500))) == 2
