"""Pages of alerts: what is listed, what people may do, and that neither costs more with more
rows.
"""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from tests.webapp.alerting.builders import closed, opened, somebody_listens, the_alert, unreachable
from tests.webapp.builders import job
from tests.webapp.delivery.builders import endpoint
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, AlertEvent, RuleSetting, Silence
from webapp.findings.models import Finding, ThresholdOverride

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>=cmd()‮" + "x" * 300


def alerting(*jobs: str, **fields) -> list[Finding]:
    at = timezone.now()
    rows = [
        opened(0, name, **{"first_seen": at, "last_seen": at, "as_of": at, **fields})
        for name in jobs or ("orders",)
    ]
    evaluate(at)
    return rows


def text(answer) -> str:
    return answer.content.decode()


def test_without_alerts_the_page_says_so(viewer):
    assert "Nothing alerts" in text(viewer.get(reverse("alerts")))


def test_open_alerts_are_listed_worst_first(viewer):
    alerting("orders")
    alerting("payments", severity="critical")
    page = text(viewer.get(reverse("alerts")))
    assert page.index("Checkpoints of payments") < page.index("Checkpoints of orders")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?severity=critical", {"payments"}),
        ("?cluster=prod-us", {"clicks"}),
        ("?rule=restart.loop", {"clicks"}),
        ("?acknowledged=yes", {"payments"}),
        ("?acknowledged=no", {"orders", "clicks"}),
        ("?silenced=yes", set()),
        ("?state=resolved", set()),
        ("?state=any&severity=nonsense", set()),
    ],
)
def test_filters_narrow_the_list(viewer, query, names):
    alerting("orders")
    alerting("payments", severity="critical")
    alerting("clicks", cluster="prod-us", rule="restart.loop")
    Alert.objects.filter(job_name="payments").update(
        acknowledged_at=timezone.now(), acknowledged_name="olga"
    )
    assert {
        one.job_name for one in viewer.get(reverse("alerts") + query).context["page"].rows
    } == names


def test_the_number_of_queries_does_not_grow_with_the_list(viewer, django_assert_max_num_queries):
    alerting(*(f"job-{number}" for number in range(60)))
    viewer.get(reverse("alerts"))
    with django_assert_max_num_queries(22):
        answer = viewer.get(reverse("alerts"))
    assert len(answer.context["page"].rows) == 25 and answer.context["page"].next_cursor
    rest = viewer.get(reverse("alerts"), {"cursor": answer.context["page"].next_cursor})
    assert len(rest.context["page"].rows) == 25


def test_an_operator_acknowledges_in_place_with_a_comment(operator):
    alerting()
    operator.post(
        reverse("alerts-acknowledge"),
        {"only": the_alert().uid, "comment": "INC-7", "next": "/alerts/"},
    )
    row = the_alert()
    assert (row.acknowledged_name, row.acknowledge_comment) == ("olga", "INC-7")
    assert AlertEvent.objects.filter(
        alert=row, kind="acknowledged", who="olga", comment="INC-7"
    ).exists()


def test_several_are_acknowledged_at_once_and_taken_back(operator):
    alerting("orders", "clicks", "payments")
    chosen = [one.uid for one in Alert.objects.exclude(job_name="payments")]
    operator.post(reverse("alerts-acknowledge"), {"uid": chosen})
    assert Alert.objects.filter(acknowledged_at__isnull=False).count() == 2
    operator.post(reverse("alerts-acknowledge"), {"uid": chosen[:1], "take_back": "1"})
    assert Alert.objects.filter(acknowledged_at__isnull=False).count() == 1


@pytest.mark.parametrize("name", ["alerts-acknowledge", "silence-new", "threshold-save"])
def test_viewers_only_look(viewer, name):
    assert viewer.post(reverse(name), {}).status_code == 403


def test_the_way_back_stays_on_this_site(operator):
    alerting()
    answer = operator.post(
        reverse("alerts-acknowledge"),
        {"only": the_alert().uid, "next": "https://evil.example.org/"},
    )
    assert answer.url == reverse("alerts")


def test_an_alert_tells_its_story_and_where_to_go(operator):
    somebody_listens()
    (row,) = alerting()
    evaluate(timezone.now() + timedelta(minutes=1))
    page = text(operator.get(reverse("alert", args=(the_alert().uid,))))
    for words in (
        "Checkpoints of orders are declined",
        "Free the disk.",
        "fired",
        "Silence this",
        "Nobody has acknowledged it",
        "on call",
    ):
        assert words in page
    assert reverse("finding", args=(row.pk,)) in page and "#runbook-title" in page


def test_an_alert_outlives_its_finding(viewer):
    (row,) = alerting()
    row.delete()
    assert "The disk is full." in text(viewer.get(reverse("alert", args=(the_alert().uid,))))


def test_the_alert_of_an_unreachable_cluster_lists_what_it_holds_back(viewer):
    since, dark = timezone.now() + timedelta(minutes=1), unreachable()
    Finding.objects.filter(pk=dark.pk).update(first_seen=since, last_seen=since)
    alerting("orders", "clicks")
    page = text(viewer.get(reverse("alert", args=(Alert.objects.get(rule="collect.blind").uid,))))
    assert "2 alerts inhibited by this one" in page and "clicks: checkpoint.declined" in page
    held = text(viewer.get(reverse("alert", args=(Alert.objects.get(job_name="clicks").uid,))))
    assert "Cluster not seen" in held


def test_an_unknown_alert_is_not_found(viewer):
    assert viewer.get("/alerts/alr_" + "a" * 26).status_code == 404


def test_a_hostile_name_is_harmless_everywhere(operator):
    alerting(HOSTILE[:300], title=HOSTILE, subject=HOSTILE, cause=HOSTILE, next_step=HOSTILE)
    uid = the_alert().uid
    for path in (
        reverse("alerts"),
        reverse("alert", args=(uid,)),
        reverse("silence-new") + "?matchers=" + "job%3D%3Cscript%3E",
    ):
        page = text(operator.get(path))
        assert "<script>alert" not in page and "&lt;script&gt;" in page


def test_silencing_this_fills_in_the_form_and_shows_what_matches(operator):
    alerting("orders", "clicks")
    page = operator.get(
        operator.get(reverse("alert", args=(Alert.objects.get(job_name="orders").uid,))).context[
            "silence_url"
        ]
    )
    assert page.context["matching"]["count"] == 1 and "cluster=&quot;prod-eu&quot;" in text(page)


def test_a_silence_needs_matchers_a_reason_and_an_end(operator):
    for given in (
        {"matchers": "", "hours": "2", "reason": "x"},
        {"matchers": "job=a", "hours": "2", "reason": " "},
        {"matchers": "job=a", "reason": "x"},
        {"matchers": "job=~(", "hours": "2", "reason": "x"},
        {"matchers": "job=a", "ends_at": "2020-01-01", "reason": "x"},
    ):
        assert operator.post(reverse("silence-new"), given).status_code == 200
    assert not Silence.objects.exists()
    operator.post(
        reverse("silence-new"), {"matchers": "job=orders", "hours": "2", "reason": "known"}
    )
    made = Silence.objects.get()
    assert (made.author_name, made.matcher_lines) == ("olga", 'job="orders"')
    operator.post(reverse("silence-end", args=(made.pk,)))
    assert Silence.objects.get().ended_name == "olga"
    assert "over" in text(operator.get(reverse("silences")))


def test_without_an_endpoint_the_page_of_silences_does_not_promise_notifications(operator):
    said = "Notifications are sent for all alerts."
    assert said not in text(operator.get(reverse("silences")))
    endpoint()
    assert said in text(operator.get(reverse("silences")))


def test_a_setting_is_previewed_on_the_last_week_and_saved_with_its_author(operator):
    at = timezone.now()
    for number in range(3):
        begin = at - timedelta(days=1, hours=number)
        row = opened(0, "orders", first_seen=begin, last_seen=begin, as_of=begin)
        Finding.objects.filter(pk=row.pk).update(
            state="closed", closed_at=begin + timedelta(minutes=3)
        )
    long_ago = at - timedelta(hours=12)
    row = opened(
        0, "orders", first_seen=long_ago, last_seen=long_ago + timedelta(minutes=20), as_of=long_ago
    )
    Finding.objects.filter(pk=row.pk).update(
        state="closed", closed_at=long_ago + timedelta(minutes=23)
    )
    asked = {
        "rule": "checkpoint.declined",
        "cluster": "",
        "job_id": "",
        "hold_before_s": "300",
        "severity": "critical",
    }
    operator.post(reverse("alert-setting"), asked)
    made = RuleSetting.objects.get()
    assert (made.author_name, made.severity, made.hold_before_s) == ("olga", "critical", 300)
    assert "olga" in text(operator.get(reverse("alert-settings")))
    operator.post(reverse("alert-setting-remove", args=(made.pk,)))
    assert not RuleSetting.objects.exists()


def test_a_moved_threshold_is_saved_for_the_scope_that_was_chosen(operator):
    of = job(at=timezone.now())
    given = {
        "cluster": of.cluster,
        "job_id": of.job_id,
        "rule": "pressure.root",
        "pressure.root.backpressured_ratio": "0.7",
    }
    operator.post(reverse("threshold-save"), given)
    made = ThresholdOverride.objects.get()
    assert (made.key, made.value, made.cluster, made.job_id) == (
        "pressure.root.backpressured_ratio",
        0.7,
        of.cluster,
        of.job_id,
    )
    assert made.author.username == "olga"
    answer = operator.post(
        reverse("threshold-save"),
        {**given, "pressure.root.backpressured_ratio": "7"},
        follow=True,
    )
    assert "must be a number from" in text(answer) and ThresholdOverride.objects.count() == 1
    operator.post(reverse("threshold-remove", args=(made.pk,)))
    assert not ThresholdOverride.objects.exists()


def test_the_header_counts_troubles_until_somebody_acknowledges_them(operator):
    alerting("orders", "clicks")
    alerting("orders", rule="pressure.root")
    badge = re.search(r'class="count"[^>]*>(\d+)<', text(operator.get(reverse("alerts"))))
    assert badge and badge[1] == "3"
    operator.post(reverse("alerts-acknowledge"), {"uid": [one.uid for one in Alert.objects.all()]})
    cache.clear()
    assert 'class="count"' not in text(operator.get(reverse("alerts")))


def test_past_alerts_are_listed_with_their_end(viewer):
    (row,) = alerting()
    closed(row, 60)
    for minutes in (1, 10):
        evaluate(timezone.now() + timedelta(minutes=minutes))
    assert "ended 2026-03-01 12:01:00 UTC" in text(
        viewer.get(reverse("alerts") + "?state=resolved")
    )


def test_the_page_of_a_job_says_how_its_alerts_stand(operator):
    (row,) = alerting()
    job(at=timezone.now(), cluster=row.cluster, job_id=row.job_id, name="orders")
    operator.post(reverse("alerts-acknowledge"), {"only": the_alert().uid})
    page = text(operator.get(reverse("job", args=(row.cluster, row.job_id))))
    assert reverse("alert", args=(the_alert().uid,)) in page and "acknowledged by olga" in page


def test_prometheus_sees_open_alerts_by_state_and_severity(operator):
    alerting("orders", "clicks")
    page = text(operator.get("/metrics"))
    assert 'weir_alerts{state="firing",severity="warning"} 2' in page
    assert (
        'weir_alerts{state="firing",severity="critical"} 0' in page
        and "weir_alerts_waiting 2" in page
    )
