"""Checkpoints, trends, findings and reports of a job that was submitted again follow its attempts,
on page, charts, API and in reports.
"""

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import GRAPH, annotation, cluster, fact, finding, job
from webapp.lib.scoped_rows import JobKey
from webapp.reports.gathering import incident
from webapp.reports.report_scope import ReportScope

pytestmark = pytest.mark.django_db
MINUTE, HOUR, MB = timedelta(minutes=1), timedelta(hours=1), 1_000_000


@pytest.fixture
def now():
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    return at


def attempt(began, over, *, ended=True, **fields):
    state = {"terminal": True, "state": "CANCELED", "end_time": over} if ended else {}
    return job(
        at=over, name="orders", start_time=began, last_seen_at=over, graph=GRAPH, **state, **fields
    )


@pytest.fixture
def line(now):
    """Ran for four hours, canceled; submitted again, canceled; the third runs.

    Each checkpoint is 10 MB larger than the one before.
    """
    jobs = [
        attempt(now - 7 * HOUR, now - 3 * HOUR),
        attempt(now - 2.9 * HOUR, now - 1.5 * HOUR),
        attempt(now - 1.4 * HOUR, now, ended=False),
    ]
    numbers = iter(range(1, 1_000))
    for of in jobs:
        at = of.start_time + MINUTE
        while at < (of.end_time or now):
            number = next(numbers)
            ran = (at - (now - 5 * HOUR)) / HOUR
            fact(
                of,
                number,
                at,
                state_bytes=round(500 * MB + 60 * MB * ran),
                checkpointed_bytes=MB,
                end_to_end_ms=1_000,
            )
            at += 10 * MINUTE
    for of in jobs[1:]:
        annotation(of, "restore", of.start_time + timedelta(seconds=20), "restored")
    return jobs


def shown(client, of, **parameters):
    return client.get(reverse("job", args=(of.cluster, of.job_id)), parameters)


def chart(client, of, name, **parameters):
    return client.get(reverse(f"job-chart-{name}", args=(of.cluster, of.job_id)), parameters).json()


def links_of(drawn):
    traces = drawn["figure"]["data"]
    urls = [url for trace in traces for url in trace.get("customdata") or () if url]
    return {
        url.split("/")[3]
        for url in [
            *urls,
            *drawn["figure"]["layout"].get("meta", {}).get("bars", {}).get("customdata", ()),
        ]
        if url
    }


def test_the_page_has_checkpoints_of_all_attempts_in_its_time_and_of_one_where_asked(
    viewer, line, now
):
    span = {"from": f"{now - 5.95 * HOUR:%Y-%m-%dT%H:%M:%SZ}", "to": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
    counts = {
        which: shown(viewer, line[2], attempts=which, **span).context["counts"]["completed"]
        for which in ("all", "this")
    }
    assert counts == {"all": 17 + 9 + 9, "this": 9}
    page = shown(viewer, line[2], **span)
    assert {one.job_id for one in page.context["checkpoints"].rows} == {one.job_id for one in line}
    assert (
        "the 3 attempts in this time" in page.text
        and f'title="attempt {line[0].job_id}"' in page.text
    )
    assert f"/jobs/prod-eu/{line[0].job_id}/checkpoints/24/" in page.text
    exported = viewer.get(reverse("job-checkpoints-export", args=("prod-eu", line[2].job_id)), span)
    assert b"".join(exported.streaming_content).count(b"prod-eu") == 35


def test_a_shorter_time_shows_the_attempts_that_lived_in_it(viewer, line):
    found = shown(viewer, line[2], **{"from": "now-2h"}).context["attempts"]
    assert [one.job_id for one in found.shown] == [line[2].job_id, line[1].job_id]


def test_an_ended_attempt_is_shown_alone_until_a_time_is_chosen(viewer, line):
    page = shown(viewer, line[0])
    assert page.context["attempts"].ids == [line[0].job_id]
    query = page.context["attempts"].all_attempts_query
    assert query.replace("&", "&amp;") in page.text
    asked = dict(part.split("=") for part in query.replace("%3A", ":").split("&"))
    assert shown(viewer, line[0], **asked).context["attempts"].ids == [
        one.job_id for one in line[::-1]
    ]


def test_charts_go_over_the_borders_of_attempts_and_mark_them(viewer, line):
    drawn = chart(viewer, line[2], "strip")
    assert links_of(drawn) == {one.job_id for one in line}
    marked = [
        one["hovertext"]
        for one in drawn["figure"]["layout"]["annotations"]
        if "attempt" in one.get("hovertext", "")
    ]
    assert [text.split("<br>")[0].split()[-1] for text in marked] == [
        one.job_id[:8] for one in line[1:]
    ]
    alone = chart(viewer, line[2], "strip", attempts="this")
    assert links_of(alone) == {line[2].job_id}
    assert not [
        one
        for one in alone["figure"]["layout"]["annotations"]
        if "attempt" in one.get("hovertext", "")
    ]


def test_the_trend_is_that_of_all_attempts_where_each_restored_what_the_last_one_wrote(
    viewer, line
):
    of_api = viewer.get(f"/api/v1/jobs/prod-eu/{line[2].job_id}/").json()["size_trend"]
    assert of_api["points"] == 42
    assert of_api["bytes_per_h"] == pytest.approx(60 * MB, rel=0.02)
    assert shown(viewer, line[2]).context["trend"].bytes_per_h == pytest.approx(60 * MB, rel=0.02)
    assert shown(viewer, line[2], attempts="this").context["trend"] is None


def test_an_attempt_that_began_with_nothing_begins_the_trend_anew(viewer, line, now):
    fresh = attempt(now + 5 * MINUTE, now + 65 * MINUTE, ended=False)
    type(line[2]).objects.filter(pk=line[2].pk).update(
        terminal=True, state="CANCELED", end_time=now + MINUTE
    )
    for number in range(6):
        fact(
            fresh,
            number,
            now + (6 + 10 * number) * MINUTE,
            state_bytes=5 * MB,
            checkpointed_bytes=MB,
        )
    assert viewer.get(f"/api/v1/jobs/prod-eu/{fresh.job_id}/").json()["size_trend"]["points"] == 6


def test_what_has_ended_on_earlier_attempts_is_listed_apart_and_lowers_no_health(viewer, line, now):
    before = finding(line[1], at=now - 2 * HOUR, title="Sink waits", state="closed")
    page = shown(viewer, line[2])
    assert [one.finding.pk for one in page.context["findings"].of_others] == [before.pk]
    assert not page.context["findings"].current and "1 on other attempts in this time" in page.text
    assert "on other attempts" not in shown(viewer, line[2], attempts="this").text


def test_what_is_open_is_shown_on_the_newest_attempt_whichever_it_was_seen_on(viewer, line, now):
    seen = finding(line[1], at=now - 2 * HOUR)
    page = shown(viewer, line[2])
    assert [one.finding.pk for one in page.context["findings"].current] == [seen.pk]


@pytest.mark.parametrize(
    ("path", "more", "count"),
    [("checkpoints", {}, 42), ("annotations", {}, 2)],
)
def test_the_api_lists_rows_of_all_attempts_where_asked(viewer, line, now, path, more, count):
    asked = {
        "cluster": "prod-eu",
        "job_id": line[2].job_id,
        "attempts": "all",
        "page_size": 100,
        **more,
    }
    assert len(viewer.get(f"/api/v1/{path}/", asked).json()["results"]) == count
    refused = viewer.get(f"/api/v1/{path}/", {"attempts": "all", "job_id": line[2].job_id})
    assert refused.status_code == 400 and "Give cluster and job_id" in refused.text


def test_a_report_of_a_job_has_the_attempts_that_lived_in_its_time(line, now):
    scope = ReportScope((JobKey("prod-eu", line[2].job_id),), now - 2 * HOUR, now)
    document = incident.gather(scope, uid="u", made_at=now, made_by="vera")
    ids = {part.key for part in document.appendix if part.key.startswith("job-")}
    assert ids == {f"job-{line[1].job_id}", f"job-{line[2].job_id}"}


def test_queries_do_not_grow_with_the_attempts(viewer, line, now, django_assert_num_queries):
    shown(viewer, line[2])
    cache.clear()
    with CaptureQueriesContext(connection) as few:
        shown(viewer, line[2])
    for number in range(8):
        attempt(now - (6 + 0.1 * number) * HOUR, now - (5.95 + 0.1 * number) * HOUR)
    cache.clear()
    with django_assert_num_queries(len(few)):
        shown(viewer, line[2])


def test_charts_of_a_young_job_begin_where_it_did_unless_a_time_was_chosen(viewer, now):
    young = attempt(now - 10 * MINUTE, now, ended=False)
    fact(young, 1, now - 5 * MINUTE, state_bytes=MB, checkpointed_bytes=MB, end_to_end_ms=1_000)
    fitted, chosen = (
        drawn_from(viewer, shown(viewer, young, **asked).text) for asked in ({}, {"from": "now-6h"})
    )
    assert now - 11 * MINUTE < fitted <= young.start_time
    assert chosen < now - 5 * HOUR


def drawn_from(client, page):
    """Where the axis of the charts of the page begins."""
    address = html.unescape(re.search(r'data-chart="([^"]*/charts/strip[^"]*)"', page)[1])
    began = client.get(address).json()["figure"]["layout"]["xaxis"]["range"][0]
    return datetime.fromisoformat(began).replace(tzinfo=UTC)
