"""A job with a new id is the same job: alerts, silences, settings and thresholds follow its name,
pages show the line of its ids.
"""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, finding, job, person
from webapp.alerting import setting_actions
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, RuleSetting
from webapp.alerting.policies import Policies
from webapp.findings import overrides
from webapp.findings.models import Finding, ThresholdOverride
from webapp.fleet.attempts import other_attempts
from webapp.incidents.joining import join
from webapp.incidents.models import IncidentMember
from webapp.incidents.outline import outline
from webapp.lib.silence_links import silence_address, silence_url

pytestmark = pytest.mark.django_db
KEY = "pressure.root.backpressured_ratio"


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def attempt(began, over=None, *, ended=True, name="orders"):
    """A job that ran from ``began`` to ``over``; not ended: it was never seen again."""
    terminal = over is not None and ended
    fields = {
        "terminal": terminal,
        "state": "CANCELED" if terminal else "RUNNING",
        "end_time": over if terminal else None,
    }
    return job(
        at=over or timezone.now(),
        name=name,
        start_time=began,
        last_seen_at=over or timezone.now(),
        **fields,
    )


@pytest.fixture
def line(now):
    """Canceled and submitted again, then lost with its JobManager; the last one runs.

    Beside it runs another of the name.
    """
    minute = timedelta(minutes=1)
    return [
        attempt(now - 90 * minute, now - 60 * minute),
        attempt(now - 58 * minute, now - 30 * minute, ended=False),
        attempt(now - 28 * minute),
    ]


def test_the_line_of_a_job_is_its_attempts_one_after_the_other_and_none_beside_it(line, now):
    beside = attempt(now - timedelta(minutes=95))
    attempt(now, name="carts")
    assert other_attempts(line[1]) == [line[2], line[0]]
    assert other_attempts(beside) == []


def test_pages_and_api_show_the_line(line, operator):
    page = operator.get(f"/jobs/prod-eu/{line[2].job_id}/").content.decode()
    assert "2 other attempts of this name" in page and f"/jobs/prod-eu/{line[0].job_id}/" in page
    assert operator.get(f"/api/v1/jobs/prod-eu/{line[2].job_id}/").json()["attempts"] == [
        line[1].job_id,
        line[0].job_id,
    ]


def found(of, at, **fields):
    return finding(of, at=at, first_seen=at, last_seen=at, to_alert=True, **fields)


@pytest.mark.parametrize("with_pause", [False, True])
def test_an_open_alert_goes_on_with_the_next_attempt(line, now, with_pause):
    """The finding goes on, or there is another one within the time that an alert is held."""
    old = found(line[1], now - timedelta(minutes=40))
    evaluate(now)
    (alert,) = Alert.objects.all()
    Alert.objects.update(acknowledged_at=now, acknowledged_name="olga", notified="firing")
    closed = {"state": "closed", "closed_at": now - timedelta(minutes=30), "to_alert": True}
    if with_pause:
        Finding.objects.filter(pk=old.pk).update(**closed)
        evaluate(now + timedelta(seconds=1))
        new = found(line[2], now - timedelta(minutes=27))
    else:
        new = old
        new.job_id, new.to_alert = line[2].job_id, True
        new.save()
    evaluate(now + timedelta(seconds=2))
    evaluate(now + timedelta(hours=1))
    (after,) = Alert.objects.all()
    assert (after.uid, after.job_id, after.finding_id) == (alert.uid, line[2].job_id, new.pk)
    assert after.is_open and after.acknowledged_name == "olga" and after.notified == "firing"
    Finding.objects.filter(pk=new.pk).update(state="closed", closed_at=now, to_alert=True)
    evaluate(now + timedelta(hours=2))
    evaluate(now + timedelta(hours=3))
    (over,) = Alert.objects.all()
    assert not over.is_open


def test_an_alert_follows_its_finding_to_the_job_that_its_attempt_turned_out_to_be_of(now):
    """Nothing else changed of it; it is listed by any id of the job, and no second one begins."""
    first = attempt(now - timedelta(minutes=90), now - timedelta(minutes=60))
    alone = attempt(now - timedelta(minutes=58), name="orders-2")
    row = found(alone, now - timedelta(minutes=5))
    evaluate(now)
    type(alone).objects.filter(pk=alone.pk).update(name="orders", first_attempt_id=first.job_id)
    Finding.objects.filter(pk=row.pk).update(first_attempt_id=first.job_id, to_alert=True)
    evaluate(now + timedelta(seconds=1))
    (alert,) = Alert.objects.all()
    assert (alert.is_open, alert.first_attempt_id) == (True, first.job_id)


def test_jobs_of_one_name_side_by_side_keep_their_own_alerts(now):
    for _ in range(2):
        found(attempt(now - timedelta(hours=2)), now - timedelta(minutes=5))
    evaluate(now)
    assert len({row.job_id for row in Alert.objects.open()}) == 2


def test_what_is_set_for_a_job_stays_when_it_gets_another_id(line):
    olga = person("olga")
    setting_actions.set_thresholds({KEY: 0.9}, "prod-eu", line[1].job_id, olga)
    setting_actions.save(
        "pressure.root",
        "prod-eu",
        line[1].job_id,
        {"hold_before_s": 60},
        olga,
    )
    new = line[2]
    assert (
        overrides.limits_of("prod-eu", new.job_id, new.name)[KEY]
        == 0.9
        != overrides.limits_of("prod-eu", new.job_id, "other")[KEY]
    )
    assert (
        Policies()
        .rule_policy("pressure.root", "prod-eu", new.job_id, new.name)
        .hold_before.total_seconds()
        == 60
    )
    assert (
        Policies()
        .rule_policy("pressure.root", "prod-eu", new.job_id, "other")
        .hold_before.total_seconds()
        == 0
    )
    setting_actions.set_thresholds({KEY: 0.8}, "prod-eu", new.job_id, olga)
    setting_actions.save("pressure.root", "prod-eu", new.job_id, {"hold_before_s": 30}, olga)
    assert (
        ThresholdOverride.objects.get().value == 0.8
        and RuleSetting.objects.get().hold_before_s == 30
    )


def test_a_silence_of_an_alert_is_one_of_the_name(line, now):
    found(line[1], now)
    evaluate(now)
    address = silence_url(Alert.objects.get())
    assert "job%3D%22orders%22" in address and line[1].job_id not in address


def test_lists_and_pages_lead_an_operator_to_a_silence_of_the_job_by_cluster_and_name(
    line, now, operator, viewer
):
    open_one = finding(line[2], "checkpoint.declined", now)
    evaluate(now)
    for path in (
        "/",
        "/alerts/",
        "/findings/",
        f"/findings/{open_one.pk}/",
        f"/jobs/prod-eu/{line[2].job_id}/",
    ):
        page = unescape(operator.get(path).content.decode())
        addresses = set(re.findall(r'href="(/alerts/silences/new\?[^"]*)"', page))
        assert addresses, path
        for address in addresses:
            form = operator.get(address).context["form"]["matchers"].value()
            assert 'cluster="prod-eu"\njob="orders"' in form and line[2].job_id not in form
        assert "/alerts/silences/new?" not in viewer.get(path).content.decode()


def test_a_name_that_no_form_can_hold_is_silenced_by_its_id_and_never_wider():
    assert "job_id%3D%22abc%22" in silence_address("prod-eu", "two\nlines", "abc")


def test_an_incident_over_attempts_of_one_job_is_of_one_job_and_over_two_jobs_of_two(line, now):
    found = [
        finding(
            one,
            "pressure.root",
            first_seen=one.start_time,
            last_seen=one.last_seen_at,
            state="closed",
        )
        for one in line
    ]
    incident = join(found[:1], now).of_finding[found[0].pk]
    other = finding(
        attempt(now - timedelta(minutes=9), name="carts"),
        "pressure.root",
        first_seen=now,
        last_seen=now,
    )
    for members, jobs in ((found[1:], 1), ([other], 2)):
        for one in members:
            IncidentMember.objects.update_or_create(finding=one, defaults={"incident": incident})
        outline([incident.pk], {})
        incident.refresh_from_db()
        assert incident.job_count == jobs
    assert incident.finding_count == 4
