"""An alert whose finding closed is quiet, and says when it will be resolved: on pages and in the API."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp.alerting.builders import at, closed, look, opened, somebody_listens, the_alert
from webapp.alerting.badges import state_badge

pytestmark = pytest.mark.django_db


@pytest.fixture
def quiet(db: None) -> None:
    somebody_listens()
    row = opened(0)
    look(15)
    closed(row, 60)
    look(75)


def test_it_is_quiet_until_its_hold_time_is_over(quiet: None) -> None:
    alert = the_alert()
    assert (state_badge(alert).word, alert.quiet_since) == ("quiet", at(75))
    assert alert.resolves_at == at(75) + timedelta(minutes=2)
    look((alert.resolves_at - at(0)).total_seconds() - 1)
    assert the_alert().is_open
    look((alert.resolves_at - at(0)).total_seconds())
    over = the_alert()
    assert (over.state, over.resolves_at, state_badge(over).word) == ("resolved", None, "resolved")


def test_it_fires_on_where_its_finding_opens_again(quiet: None) -> None:
    opened(90)
    look(105)
    alert = the_alert()
    assert (state_badge(alert).word, alert.quiet_since, alert.resolves_at) == ("firing", None, None)


def test_one_that_flaps_has_to_be_quiet_for_ten_minutes(db: None) -> None:
    somebody_listens()
    for number in range(3):
        row = opened(300 * number)
        look(300 * number + 15)
        closed(row, 300 * number + 30)
        look(300 * number + 45)
        look(300 * number + 200)
    alert = the_alert()
    assert alert.flapping and alert.resolves_at == alert.quiet_since + timedelta(minutes=10)


def test_lists_pages_and_the_api_say_so(quiet: None, operator: Client) -> None:
    alert = the_alert()
    listed = operator.get("/api/v1/alerts/").json()["results"][0]
    assert listed["resolves_at"] == alert.resolves_at.isoformat().replace("+00:00", "Z")
    shown = f"{alert.resolves_at:%H:%M:%S}"
    assert shown in operator.get("/alerts/").content.decode()
    assert shown in operator.get(reverse("alert", args=(alert.uid,))).content.decode()
