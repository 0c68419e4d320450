"""The pages of findings and of the rules that make them."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from spark_jobs.diagnosis.registry import all_rules
from tests.webapp.builders import cluster, finding, job, occurrences
from webapp.findings.models import Finding, ThresholdOverride

pytestmark = pytest.mark.django_db
LIST_QUERIES, PAGE_QUERIES = 14, 16
HOSTILE = "<script>document.title='pwned'</script>"


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def page_of(client, one):
    return client.get(reverse("finding", args=(one.pk,))).content.decode()


def titles(answer):
    return [one.title for one, _badge in answer.context["rows"]]


def test_open_ones_are_listed_the_worst_first(viewer, now):
    of = job(at=now)
    finding(of, "data.skew", now, severity="warning", title="warned", subject_id="a")
    finding(of, at=now - timedelta(hours=1), title="broken", subject_id="b")
    finding(of, at=now, title="over", state="closed", subject_id="c")
    assert titles(viewer.get("/findings/")) == ["broken", "warned"]


def test_attempts_of_one_name_are_told_apart_by_their_ids(viewer, now):
    attempts = [
        job(at=now, name=name, job_id=letter * 32)
        for name, letter in (("sync", "a"), ("sync", "b"), ("orders", "c"))
    ]
    for of in attempts:
        finding(of, at=now, subject_id="job")
    page = viewer.get("/findings/").content.decode()
    assert [f">{of.job_id[:8]}<" in page for of in attempts] == [True, True, False]


def test_the_past_is_listed_the_newest_first(viewer, now):
    of = job(at=now)
    finding(of, at=now - timedelta(hours=1), title="earlier", state="closed", subject_id="a")
    finding(of, "data.skew", now, severity="warning", title="later", state="closed", subject_id="b")
    assert titles(viewer.get("/findings/", {"state": "closed"})) == ["later", "earlier"]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"cluster": "prod-eu"}, {"a", "b"}),
        ({"cluster": "other"}, {"c"}),
        ({"rule": "data.skew"}, {"b"}),
        ({"severity": "critical"}, {"a", "c"}),
        ({"state": "closed"}, {"d"}),
        ({"state": "any"}, {"a", "b", "c", "d"}),
        ({"severity": "nonsense", "state": "nonsense"}, set()),
        ({"job": "other-job"}, set()),
        ({"to": "now-1h"}, set()),
        ({"from": "now-1h", "severity": ""}, {"a", "b", "c"}),
        ({"rule": "no.such"}, set()),
        ({"cluster": "\x00"}, set()),
    ],
)
def test_filters_narrow_the_list(viewer, now, asked, wanted):
    of, elsewhere = job(at=now), job("other", at=now)
    finding(of, at=now, title="a")
    finding(of, "data.skew", now, severity="warning", title="b")
    finding(elsewhere, at=now, title="c")
    finding(of, at=now, title="d", state="closed")
    assert set(titles(viewer.get("/findings/", asked))) == wanted


def test_the_list_pages_and_its_queries_do_not_grow(
    viewer, now, django_assert_max_num_queries, django_assert_num_queries
):
    of = job(at=now)
    finding(of, at=now, subject_id="first")
    with django_assert_max_num_queries(LIST_QUERIES) as few:
        viewer.get("/findings/")
    for number in range(60):
        finding(
            of,
            at=now - timedelta(minutes=number),
            subject_id=str(number),
            title=f"finding {number}",
        )
    cache.clear()
    with django_assert_num_queries(len(few)):
        first = viewer.get("/findings/")
    second = viewer.get("/findings/", {"cursor": first.context["page"].next_cursor})
    assert len({*titles(first), *titles(second)}) == 61


def test_a_damaged_page_link_leads_to_the_first_page(viewer, now):
    assert viewer.get("/findings/", {"cursor": "%%%"}).url == "/findings/"


def test_nothing_open_is_not_the_same_as_healthy(viewer, now):
    page = viewer.get("/findings/").content.decode()
    assert "Nothing is open" in page
    assert "unknown in the fleet" in page


def test_a_finding_tells_what_why_what_next_and_on_which_figures(viewer, now):
    one = finding(job(at=now, name="orders"), at=now)
    page = page_of(viewer, one)
    for told in (
        "slow-enrich back-pressures the whole job",
        ("Its input is full"),
        ("Profile a slow-enrich task thread"),
        ("96 %"),
        "≥ 80 %",
        "986 ms/s",
        "largest of 4 subtasks",
        "▲ critical",
        "● open",
        "high",
        "orders",
        "pressure.root",
    ):
        assert told in page, told


def test_it_shows_the_way_to_the_origin_and_its_runbook(viewer, now):
    page = page_of(viewer, finding(job(at=now), at=now))
    way = page.split('class="path"')[2].split("</td>")[0]
    assert way.index("Source: clicks") < way.index("parse") < way.index("slow-enrich")
    assert "Look here first" in page


def test_the_query_count_of_a_finding_is_constant(viewer, now, django_assert_max_num_queries):
    one = finding(job(at=now), at=now)
    occurrences(one)
    with django_assert_max_num_queries(PAGE_QUERIES):
        page_of(viewer, one)


@pytest.mark.parametrize(
    "evidence",
    [
        [],
        None,
        ["nonsense"],
        [{"name": "outcome", "value": "declined"}],
        [{"name": "x", "value": None, "unit": "ms"}],
        [{}],
    ],
)
def test_evidence_without_a_figure_has_a_page(viewer, now, evidence):
    one = finding(job(at=now), at=now, evidence=evidence or [])
    assert viewer.get(reverse("finding", args=(one.pk,))).status_code == 200


def test_hostile_names_are_text(viewer, now):
    texts = dict.fromkeys(("title", "cause", "next_step", "subject"), HOSTILE)
    related = [
        {"kind": "vertex", "subject": HOSTILE, "path": [HOSTILE, HOSTILE], "note": HOSTILE},
        "nonsense",
        {"kind": "x"},
    ]
    evidence = [{"name": HOSTILE, "value": HOSTILE, "unit": HOSTILE, "note": HOSTILE}]
    of = job(at=now, name=HOSTILE)
    one = finding(of, at=now, related=related, evidence=evidence, data={"log": HOSTILE}, **texts)
    for path in (
        reverse("finding", args=(one.pk,)),
        "/findings/",
        "/",
        reverse("job", args=(of.cluster, of.job_id)),
    ):
        page = viewer.get(path).content.decode()
        assert HOSTILE not in page, path
        assert "&lt;script&gt;" in page, path


def test_a_finding_of_a_rule_that_is_gone_is_still_shown(viewer, now):
    one = finding(job(at=now), "no.such_rule", now)
    assert "no.such_rule" in page_of(viewer, one)


def test_a_finding_about_a_cluster_needs_no_job(viewer, now):
    of = job(at=now)
    one = finding(
        of,
        "collect.blind",
        now,
        subject_kind="cluster",
        subject_id="prod-eu",
        subject="prod-eu",
        title="prod-eu is silent",
    )
    Finding.objects.update(job_id="", job_name=None)
    assert "prod-eu is silent" in page_of(viewer, one)


@pytest.mark.parametrize(
    "path",
    [
        "/findings/99999/",
        "/findings/99999999999999999999999/",
        "/rules/no.such/",
    ],
)
def test_what_is_not_there_is_not_found(viewer, now, path):
    assert viewer.get(path).status_code == 404


def test_the_rules_page_lists_every_rule_with_its_thresholds(viewer, now):
    finding(job(at=now), at=now)
    page = viewer.get("/rules/").content.decode()
    for rule in all_rules().values():
        assert rule.id in page and f"/rules/{rule.id}/" in page
    assert 'href="/findings/?rule=pressure.root">1</a>' in page


@pytest.mark.parametrize("rule_id", sorted(all_rules()))
def test_every_rule_has_a_page_with_runbook_and_reasons(viewer, now, rule_id):
    answer = viewer.get(f"/rules/{rule_id}/")
    page = answer.content.decode()
    assert "Act now" in page
    for row in answer.context["thresholds"]:
        assert row.threshold.key in page


def test_a_threshold_that_somebody_set_stands_beside_its_default(viewer, now):
    threshold = all_rules()["checkpoint.expired"].thresholds[0]
    ThresholdOverride.objects.create(key=threshold.key, value=threshold.minimum, cluster="prod-eu")
    assert "cluster prod-eu" in viewer.get("/rules/checkpoint.expired/").content.decode()


def test_pages_are_for_people_who_are_signed_in(client, now):
    for path in (
        "/findings/",
        "/rules/",
        "/rules/pressure.root/",
        f"/findings/{finding(job(at=now), at=now).pk}/",
    ):
        assert client.get(path).url.startswith("/sign-in/"), path


def test_a_link_to_a_finding_that_is_gone_says_why(viewer, now):
    answer = viewer.get("/findings/4711/")
    assert answer.status_code == 404
    assert "did not confirm it" in answer.content.decode()


def test_a_log_line_is_read_across_the_table_not_in_the_column_of_figures(viewer, now):
    line = "Decline checkpoint 3 by task 0123456789abcdef of job fedcba9876543210 at tm-2."
    evidence = [
        {"name": "declined checkpoints", "value": 5, "unit": "count"},
        {"name": "log line", "value": line},
    ]
    page = page_of(viewer, finding(job(at=now), at=now, evidence=evidence))
    assert f'colspan="3">log line<q class="figure-text">{line}</q></td>' in page
    assert "<b>5</b>" in page
