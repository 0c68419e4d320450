"""Known bugs beside the findings that they explain: page of the finding, page of the job, API,
notice, incident, report.
"""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.webapp.alerting.builders import looks, opened, somebody_listens, told
from tests.webapp.builders import T0, exception, finding, job
from tests.webapp.reports.stories import told as reported
from webapp.findings.known_bugs import bugs_beside
from webapp.incidents.models import Incident
from webapp.reports.document_json import from_plain, to_json
from webapp.reports.renderers import html

pytestmark = pytest.mark.django_db
UNALIGNED = {"mode": "exactly_once", "state_backend": "HashMap", "unaligned": True}
TRACE = (
    "java.lang.UnsupportedOperationException: Cannot get old subtasks from a descriptor that "
    "represents no state.\n\tat org.apache.flink.A.b(A.java:1)"
)


def restored(version="1.20.3", stacktrace=TRACE, at=T0, **fields):
    of = job(at=at, flink_version=version, **{"checkpoint_config": UNALIGNED, **fields})
    exception(of, at - timedelta(minutes=5), stacktrace=stacktrace)
    return of


def answered(viewer, of):
    return viewer.get(reverse("api-findings-detail", args=(of.pk,))).json()["known_bugs"]


def test_a_finding_names_the_bug_that_it_proves_with_the_way_out(viewer):
    row = finding(restored(), "restart.loop")
    (known,) = answered(viewer, row)
    assert known == {
        "issue": "FLINK-38483",
        "shown": "shows",
        "sentence": "Flink 1.20.3 has FLINK-38483, and this is how it shows. A job does not restore "
        "from an unaligned checkpoint.",
        "way_out": "Upgrade to 1.20.4. Until then restore from a savepoint.",
        "releases": "since 1.20.3, fixed in 1.20.4",
        "address": "https://issues.apache.org/jira/browse/FLINK-38483",
    }
    page = viewer.get(reverse("finding", args=(row.pk,))).content.decode()
    assert "and this is how it shows" in page
    assert 'href="https://issues.apache.org/jira/browse/FLINK-38483"' in page


@pytest.mark.parametrize(
    ("of", "rule"),
    [
        ({"version": "1.20.4"}, "restart.loop"),
        ({"version": "1.20.2"}, "restart.loop"),
        ({"version": "1.20.3-stream1"}, "restart.loop"),
        ({"version": None}, "restart.loop"),
        ({"stacktrace": "java.lang.RuntimeException: boom"}, "restart.loop"),
        ({"checkpoint_config": UNALIGNED | {"unaligned": False}}, "restart.loop"),
        ({}, "checkpoint.expired"),
    ],
)
def test_another_release_configuration_failure_or_finding_names_no_bug(viewer, of, rule):
    assert answered(viewer, finding(restored(**of), rule)) == []


def test_a_failure_of_long_before_or_of_another_job_is_no_symptom(viewer):
    restored()
    other = job(at=T0, flink_version="1.20.3", checkpoint_config=UNALIGNED)
    exception(other, T0 - timedelta(days=1), stacktrace=TRACE)
    assert answered(viewer, finding(other, "restart.loop")) == []


def test_what_only_may_explain_a_finding_says_what_would_have_to_be_so(viewer):
    of = job(at=T0, flink_version="1.17.1")
    (first, second) = answered(viewer, finding(of, "watermark.stalled"))
    assert {first["issue"], second["issue"]} == {"FLINK-32414", "FLINK-32496"}
    assert first["shown"] == second["shown"] == "may_explain"
    assert "which may explain this if the job has watermark alignment" in first["sentence"]


def test_a_finding_on_storage_is_held_against_the_job_that_it_is_about(viewer):
    configuration = {"state.backend.incremental": "true"}
    leaking = job(at=T0, flink_version="1.16.1", configuration=configuration)
    fixed = job(at=T0, flink_version="1.16.2", configuration=configuration)
    (known,) = answered(viewer, finding(leaking, "storage.orphans"))
    assert (known["issue"], known["shown"]) == ("FLINK-30461", "may_explain")
    assert answered(viewer, finding(fixed, "storage.orphans")) == []


def test_the_page_of_the_job_names_it_beside_the_finding(viewer):
    now = timezone.now()
    of = restored(at=now)
    finding(of, "restart.loop", now)
    page = viewer.get(reverse("job", args=(of.cluster, of.job_id))).content.decode()
    assert page.count("and this is how it shows") == 1


def test_a_notice_names_it_unless_the_finding_does(db):
    somebody_listens()
    for name, cause in (("one", "Tasks fail."), ("two", "FLINK-38483 hits.")):
        row = opened(0, name, "restart.loop", cause=cause)
        of = restored(cluster=row.cluster, job_id=row.job_id)
        exception(of, row.first_seen, stacktrace=TRACE)
    looks(0, 300)
    (notice,) = told()
    causes = {alert.job_name: alert.cause for alert in notice.alerts}
    assert causes["one"].startswith("Tasks fail. Flink 1.20.3 has FLINK-38483, and this is how it")
    assert causes["two"] == "FLINK-38483 hits."


def test_the_list_of_findings_names_it_beside_each(viewer):
    for number in range(5):
        finding(restored(), "restart.loop", subject_id=f"s{number}")
    finding(restored("1.20.4"), "restart.loop", severity="info")
    rows = viewer.get(reverse("api-findings-list")).json()["results"]
    issues = [[one["issue"] for one in row["known_bugs"]] for row in rows]
    assert sorted(issues) == [[], *[["FLINK-38483"]] * 5]


def test_the_page_of_an_incident_names_it_beside_its_cause_and_what_follows(viewer):
    row = opened(0, "one", "restart.loop", severity="critical")
    opened(30, "one", "checkpoint.stalled", severity="critical")
    of = restored(cluster=row.cluster, job_id=row.job_id)
    exception(of, row.first_seen, stacktrace=TRACE)
    looks(0, 60)
    incident = Incident.objects.get()
    page = viewer.get(reverse("incident", args=(incident.uid,))).content.decode()
    assert page.count("and this is how it shows") == 1


def test_a_report_names_it_on_paper_too(viewer):
    of = restored(at=T0 + timedelta(minutes=30))
    finding(of, "restart.loop", T0 + timedelta(minutes=26))
    document = reported(of)
    assert from_plain(json.loads(to_json(document))) == document
    assert "and this is how it shows" in html.render(document)
    assert "browse/FLINK-38483" in html.render(document)


def test_many_findings_ask_the_database_a_constant_number_of_times(
    viewer, django_assert_max_num_queries
):
    of = job(at=T0, flink_version="1.17.1")
    rows = [finding(of, "watermark.stalled", subject_id=f"v{number}") for number in range(30)]
    with django_assert_max_num_queries(2):
        assert len(bugs_beside(rows)) == 30


def test_a_page_of_the_list_asks_for_stack_traces_once(viewer):
    def asked():
        with CaptureQueriesContext(connection) as queries:
            rows = viewer.get(reverse("api-findings-list")).json()["results"]
        assert all(row["known_bugs"] for row in rows)
        return len(queries), len(rows)

    finding(restored(), "restart.loop")
    few, _ = asked()
    for _ in range(6):
        finding(restored(), "restart.loop")
    assert asked() == (few, 7)
