"""Who hears of a notice: matchers and severity choose, and what is queued commits with the caller's
rows or not at all.
"""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.delivery.builders import alert, endpoint, notice
from webapp.delivery import outbox
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.delivery.notices import Notice
from webapp.lib.matchers import BadMatcher, from_json, match_all, matcher, parse_lines


def wants(*written: str) -> list[dict[str, str]]:
    return [one.as_json() for one in parse_lines("\n".join(written))]


def told(**fields: Any) -> Notice:
    """The one notice in the outbox."""
    return Delivery.objects.get(**fields).notice


@pytest.mark.django_db
def test_each_endpoint_hears_of_what_its_matchers_take() -> None:
    endpoint(name="orders", matchers=wants('job=~"orders.*"', 'cluster="prod-eu"'))
    endpoint(name="others", matchers=wants('job!="orders"'))
    endpoint(name="nothing", matchers=wants("team=x"))
    assert outbox.queue(notice(alert(job_name="orders"), alert(job_name="clicks"))) == 2
    assert [one.job_name for one in told(endpoint__name="orders").alerts] == ["orders"]
    assert [one.job_name for one in told(endpoint__name="others").alerts] == ["clicks"]


@pytest.mark.django_db
def test_the_least_severity_is_kept_to() -> None:
    endpoint(min_severity="critical")
    assert outbox.queue(notice(alert(severity="warning"))) == 0
    assert outbox.queue(notice(alert(severity="warning"), alert(severity="critical"))) == 1
    assert [one.severity for one in told().alerts] == ["critical"]


@pytest.mark.django_db
def test_who_has_no_news_in_a_notice_is_left_in_peace_unless_it_is_a_repeat() -> None:
    endpoint(matchers=wants("job=orders"))
    orders, clicks = alert(job_name="orders"), alert(job_name="clicks")
    news = frozenset({clicks.uid})
    assert outbox.queue(notice(orders, clicks, changed=news)) == 0
    assert outbox.queue(notice(orders, clicks, changed=news, kind="repeat")) == 1


@pytest.mark.django_db
def test_for_whom_all_is_over_it_reads_resolved_though_others_still_fire() -> None:
    endpoint(matchers=wants("job=orders"))
    outbox.queue(
        notice(
            alert(job_name="orders", status="resolved"), alert(job_name="clicks"), kind="changed"
        )
    )
    assert (told().status, told().kind, told().firing_total) == ("resolved", "resolved", 0)


@pytest.mark.django_db
def test_totals_beyond_what_a_notice_carries_stay_where_nothing_is_left_out() -> None:
    endpoint()
    outbox.queue(notice(*(alert() for _ in range(100)), alerts_total=1_000, firing_total=1_000))
    assert told().alerts_total == 1_000


@pytest.mark.django_db
def test_totals_of_a_group_of_several_clusters_are_not_told_to_who_hears_of_one() -> None:
    endpoint(name="one", matchers=wants("cluster=prod-eu"))
    endpoint(name="all")
    many = [alert(cluster="prod-eu") for _ in range(100)]
    outbox.queue(notice(*many, cluster="", alerts_total=1_000, firing_total=1_000))
    assert told(endpoint__name="one").firing_total == 100
    assert told(endpoint__name="all").firing_total == 1_000


@pytest.mark.django_db
def test_of_very_many_alerts_machines_hear_every_one_in_parts_and_people_once() -> None:
    endpoint(name="machine")
    endpoint(name="people", format="slack")
    endpoint(name="one", matchers=wants("job=job-999"))
    many = notice(*(alert(job_name=f"job-{number}") for number in range(1_000)))
    assert outbox.queue(many) == 4
    parts = [row.notice for row in Delivery.objects.filter(endpoint__name="machine").order_by("id")]
    assert [one.uid for part in parts for one in part.alerts] == [one.uid for one in many.alerts]
    assert [(part.part, part.parts, part.alerts_total) for part in parts] == [
        (1, 2, 1_000),
        (2, 2, 1_000),
    ]
    assert told(endpoint__name="people").alerts_total == 1_000
    assert [one.job_name for one in told(endpoint__name="one").alerts] == ["job-999"]
    assert outbox.queue(many) == 0


@pytest.mark.django_db
def test_a_part_stays_below_what_web_servers_take() -> None:
    endpoint()
    outbox.queue(notice(*(alert(cause="界" * 5_000) for _ in range(200))))
    assert all(len(row.payload) < 1_000_000 for row in Delivery.objects.all())
    assert DeliveryAlert.objects.count() == 200


@pytest.mark.django_db
def test_an_endpoint_whose_stored_matchers_are_damaged_hears_everything_and_holds_up_nobody() -> (
    None
):
    endpoint(matchers=[{"label": "job", "operator": "=~", "value": "("}])
    endpoint()
    assert outbox.queue(notice()) == 2


@pytest.mark.django_db
def test_disabled_endpoints_hear_of_nothing() -> None:
    endpoint(enabled=False)
    assert outbox.queue(notice()) == 0


@pytest.mark.django_db
def test_the_same_notice_queued_twice_is_delivered_once() -> None:
    endpoint()
    same = notice()
    assert (outbox.queue(same), outbox.queue(same)) == (1, 0)
    assert DeliveryAlert.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_not_delivered() -> None:
    endpoint()
    with pytest.raises(RuntimeError), transaction.atomic():
        outbox.queue(notice())
        raise RuntimeError
    assert not Delivery.objects.exists()


@pytest.mark.django_db
def test_the_most_hostile_names_can_be_kept() -> None:
    endpoint()
    evil = "nul\x00 half \ud83d \u202e <script>"
    assert outbox.queue(notice(alert(title=evil, job_name=evil, labels={"a": evil}))) == 1
    assert "\x00" not in Delivery.objects.get().payload
    assert told().alerts[0].title.startswith("nul")


@given(st.text(max_size=200), st.text(max_size=200))
def test_equal_and_not_equal_are_opposites(value: str, text: str) -> None:
    value = value.replace("\x00", "")
    assert matcher("a", "=", value).accepts(text) is (value == text)
    assert matcher("a", "!=", value).accepts(text) is (value != text)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a|b", "a", True),
        ("a|b", "ab", False),
        ("a.*", "xab", False),
        ("", "", True),
        ("", "a", False),
        ("(?i)A", "a", True),
        (".", "界", True),
    ],
)
def test_patterns_are_anchored_at_both_ends(pattern: str, text: str, fits: bool) -> None:
    assert matcher("a", "=~", pattern).accepts(text) is fits
    assert matcher("a", "!~", pattern).accepts(text) is not fits


def test_a_pattern_that_ruins_other_engines_takes_no_time() -> None:
    assert not matcher("a", "=~", "(a+)+b").accepts("a" * 100_000)


def test_a_label_that_is_missing_counts_as_empty() -> None:
    assert match_all(parse_lines('team=""'), {})
    assert not match_all(parse_lines("team=x"), {})


@pytest.mark.parametrize(
    "bad", ["x", "=x", "a b=c", "é=x", 'a=~"("', "a=~" + "x" * 201, "a=" + "x" * 1_001, 'a=~"\\1"']
)
def test_matchers_that_make_no_sense_are_refused(bad: str) -> None:
    with pytest.raises(BadMatcher):
        parse_lines(bad)


@pytest.mark.parametrize(
    "bad", ["x", [1], [{"label": "a"}], [{"label": "a", "operator": "=", "value": 1}], None, {}]
)
def test_json_that_is_no_list_of_matchers_is_refused(bad: object) -> None:
    with pytest.raises(BadMatcher):
        from_json(bad)


def test_what_is_written_reads_back() -> None:
    written = parse_lines('cluster = "prod eu"\njob=~a.*\n\nrule!="x"')
    assert parse_lines("\n".join(str(one) for one in written)) == written
    assert from_json([one.as_json() for one in written]) == written
