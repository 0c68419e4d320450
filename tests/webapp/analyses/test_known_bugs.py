"""Which known bugs can hit the fleet, which show, and what another release takes away."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.analyses.answers import facts_of, tables_of
from tests.webapp.builders import cluster, exception, finding, job, person
from webapp.findings.models import Finding

pytestmark = pytest.mark.django_db
INCREMENTAL = {"state.backend.incremental": "true", "high-availability": "zookeeper"}
TRACE = (
    "java.lang.UnsupportedOperationException: Cannot get old subtasks from a descriptor that "
    "represents no state."
)


@pytest.fixture
def fleet(db):
    """One job in which a bug shows, one that bugs can hit, one of which little is known, one on a
    vendor's release, and one that has ended.
    """
    at = timezone.now()
    for name in ("prod-eu", "prod-us"):
        cluster(name, at=at, labels={"team": name})
    showing = job(
        "prod-eu",
        at=at,
        name="showing",
        flink_version="1.20.3",
        checkpoint_config={"state_backend": "HashMap", "unaligned": True},
        configuration={},
    )
    exception(showing, at - timedelta(minutes=2), stacktrace=TRACE)
    finding(showing, "restart.loop", at)
    job("prod-eu", at=at, name="old", flink_version="1.13.2", configuration=INCREMENTAL)
    job("prod-us", at=at, name="dark", flink_version="1.13.2", configuration=None)
    job("prod-us", at=at, name="vendors", flink_version="1.13.2-stream1")
    job("prod-us", at=at, name="ended", flink_version="1.13.2", terminal=True, state="FINISHED")


def answered(client, **parameters):
    response = client.get(reverse("api-analysis-known-bugs"), parameters)
    assert response.status_code == 200
    return response.json()


def rows_of(document, table, key):
    return {row[key]: row for row in tables_of(document)[table]["rows"]}


def test_what_shows_what_can_hit_and_what_cannot_be_told_are_kept_apart(viewer, fleet):
    document = answered(viewer)
    bugs = rows_of(document, "bugs", "issue")
    counted = {issue: (row["shows"], row["can_hit"], row["unknown"]) for issue, row in bugs.items()}
    assert counted["FLINK-38483"] == (1, 0, 0)
    assert counted["FLINK-23949"] == (0, 1, 1)
    assert counted["FLINK-24543"] == (0, 1, 1)
    assert "FLINK-34007" not in counted
    assert next(iter(bugs)) == "FLINK-38483"
    jobs = rows_of(document, "jobs", "job")
    assert next(iter(jobs)) == "showing"
    assert jobs["showing"]["shows"] == "FLINK-38483"
    assert "FLINK-23949" in jobs["old"]["can_hit"]
    assert jobs["dark"]["can_hit"] == "" and jobs["dark"]["unknown"] > 0
    assert "vendors" not in jobs and "ended" not in jobs
    assert document["verdict"]["tone"] == "warn"
    assert document["verdict"]["sentence"].startswith("1 known bug shows.")


def test_releases_that_nobody_looked_at_are_named_as_not_known(viewer, fleet):
    reasons = [block.get("reason", "") for block in answered(viewer)["blocks"]]
    assert any("1.13.2-stream1" in reason for reason in reasons)
    assert not any("1.20.3" in reason for reason in reasons)


def test_another_release_takes_bugs_away_and_leaves_others(viewer, fleet):
    document = answered(viewer, release="1.13.6")
    bugs, jobs = rows_of(document, "bugs", "issue"), rows_of(document, "jobs", "job")
    assert (bugs["FLINK-23949"]["gone"], bugs["FLINK-23949"]["left"]) == (2, 0)
    assert bugs["FLINK-39513"]["gone"] == 0 and bugs["FLINK-39513"]["left"] > 0
    assert "FLINK-23949" in jobs["old"]["gone"] and "FLINK-23949" not in jobs["old"]["left"]
    assert jobs["showing"]["gone"] == "" and "FLINK-38483" in jobs["showing"]["left"]
    newer = rows_of(answered(viewer, release="1.20.3"), "jobs", "job")
    assert "FLINK-23949" in newer["old"]["gone"] and "FLINK-39513" in newer["dark"]["left"]


def test_without_a_release_nothing_is_said_of_one(viewer, fleet):
    document = answered(viewer)
    assert "free" not in facts_of(document)
    assert "gone" not in [column["key"] for column in tables_of(document)["bugs"]["columns"]]
    response = viewer.get(reverse("api-analysis-known-bugs"), {"release": "newest"})
    assert response.status_code == 400
    assert "Give a release of Flink" in response.content.decode()


def test_a_closed_finding_shows_nothing_any_more(viewer, fleet):
    Finding.objects.update(state="closed")
    assert rows_of(answered(viewer), "bugs", "issue")["FLINK-38483"]["can_hit"] == 1


def test_people_see_only_jobs_of_their_clusters(fleet):
    ann = person("ann")
    call_command("scope_user", "ann", 'team="prod-us"', stdout=StringIO())
    ann.refresh_from_db()
    client = Client()
    client.force_login(ann)
    document = answered(client)
    assert set(rows_of(document, "jobs", "job")) == {"dark"}
    assert "FLINK-38483" not in rows_of(document, "bugs", "issue")
    assert facts_of(document)["jobs"] == 2


def test_a_fleet_without_jobs_has_nothing_to_say(viewer):
    assert answered(viewer)["verdict"] == {"tone": "unknown", "sentence": "No job is running."}


def test_page_and_command_answer_alike(viewer, fleet):
    page = viewer.get(
        reverse("fleet-known-bugs"), {"release": "1.20.5"}, headers={"HX-Request": "true"}
    ).content.decode()
    assert "FLINK-38483" in page and "Gone with 1.20.5" in page
    out = StringIO()
    call_command("analyse", "--fleet", "known-bugs", "--set", "release=1.20.5", stdout=out)
    assert "FLINK-38483" in out.getvalue()


def test_jobs_are_read_in_a_constant_number_of_queries(
    viewer, fleet, django_assert_max_num_queries
):
    at = timezone.now()
    for number in range(30):
        job("prod-eu", at=at, name=f"job-{number}", flink_version="1.13.2", configuration={})
    with django_assert_max_num_queries(14):
        viewer.get(reverse("fleet-known-bugs"), headers={"HX-Request": "true"})
