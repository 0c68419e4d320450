"""The pages of reports: who may do what, and what they show."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import T0, job
from tests.webapp.reports.stories import HOSTILE, UID, expiring, scope, seen
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.fleet.models import JobCurrent
from webapp.reports import orders, work_keys
from webapp.reports.choices import ReportState
from webapp.reports.models import IncidentReport
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
LIST_QUERIES, PAGE_QUERIES = 13, 13


@pytest.fixture
def of():
    seen()
    return expiring()


@pytest.fixture
def made(of) -> IncidentReport:
    report = orders.request_report(scope(of), user=None, name="olga", at=timezone.now())
    perform(work_keys.key_of(report.pk))
    report.refresh_from_db()
    return report


def test_the_sickest_jobs_are_offered_not_those_seen_last():
    ill = job(at=T0, name="ill", health=40, health_state="judged")
    failed = job(at=T0, name="failed", state="FAILED", trouble=100, health_state="ended")
    well = job(at=T0 + timedelta(minutes=1), name="well", health=100, health_state="judged")
    assert [row.name for row in JobCurrent.objects.worst_first("-last_seen_at", "id")] == [
        failed.name,
        ill.name,
        well.name,
    ]


def waiting(number: int = 0, **fields: object) -> IncidentReport:
    end = T0 + timedelta(minutes=number)
    return IncidentReport.objects.create(
        **{
            "start": T0 - timedelta(hours=1),
            "end": end,
            "asked_at": T0,
            "author_name": "olga",
            **fields,
        }
    )


def text_of(answer) -> str:
    return answer.content.decode()


def test_everybody_reads_a_report_and_its_first_screen_tells_the_story(viewer, made):
    page = text_of(viewer.get(reverse("report", args=(made.uid,))))
    for words in (
        "What happened",
        "4 checkpoints expired after 4 s",
        "Why",
        "back-pressures the whole job",
        "What to do",
        "Profile a slow-enrich",
    ):
        assert words in page
    assert page.index("What happened") < page.index("Time line") < page.index("Appendix")
    assert "Delete the report" not in page


def test_nobody_reads_one_without_signing_in(client, made):
    for name, args in (
        ("reports", ()),
        ("report", (made.uid,)),
        ("report-open", (made.uid,)),
        ("report-download", (made.uid, "html")),
    ):
        assert client.get(reverse(name, args=args)).status_code == 302


def test_viewers_ask_for_none(viewer, of):
    asked = {"job": f"{of.cluster}/{of.job_id}", "from": "now-6h", "to": "now"}
    assert viewer.post(reverse("reports-new"), asked).status_code == 403
    assert not IncidentReport.objects.exists()


def test_viewers_change_none(viewer, made):
    assert viewer.post(reverse("report-delete", args=(made.uid,))).status_code == 403


def test_reading_an_address_changes_nothing(operator, made):
    assert operator.get(reverse("report-delete", args=(made.uid,))).status_code == 405


def test_an_operator_chooses_jobs_and_a_range(operator, of):
    asked = {
        "job": f"{of.cluster}/{of.job_id}",
        "from": "2026-03-01T03:40:00Z",
        "to": "2026-03-01T04:40:00Z",
    }
    answer = operator.post(reverse("reports-new"), asked)
    report = IncidentReport.objects.get()
    assert answer.url == reverse("report", args=(report.uid,))
    assert (report.jobs, report.author_name) == ([[of.cluster, of.job_id]], "olga")
    assert report.end - report.start == timedelta(hours=1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "Choose at least one job."),
        ({"job": "prod-eu/nobody"}, "None of these jobs was ever seen."),
        ({"job": "x/y", "from": "gestern"}, "is not a time"),
        ({"job": "x/y", "from": "now", "to": "now-6h"}, "has to end after it starts"),
        ({"job": "x/y", "from": "now-60d", "to": "now"}, "at most 31 days"),
        ({"job": "\x00/\x00"}, "Choose at least one job."),
    ],
)
def test_what_makes_no_sense_is_said_in_the_form(operator, of, asked, said):
    answer = operator.post(reverse("reports-new"), asked)
    assert answer.status_code == 200
    assert said in text_of(answer).replace("&#x27;", "'")
    assert not IncidentReport.objects.exists()


def test_a_report_is_made_from_an_alert_with_one_click(operator, of):
    evaluate(T0)
    alert = Alert.objects.get(rule="checkpoint.expired")
    operator.post(f"{reverse('reports-new')}?alert={alert.uid}")
    report = IncidentReport.objects.get()
    assert (report.from_alert, report.jobs) == (alert.uid, [[of.cluster, of.job_id]])
    assert report.start == alert.starts_at - timedelta(minutes=15)


def test_an_alert_that_is_not_there_is_not_found(operator):
    assert operator.post(f"{reverse('reports-new')}?alert=alr_nope").status_code == 404


def test_chosen_jobs_come_first_and_others_can_be_chosen(operator, of):
    other = job(at=T0, name="billing")
    page = text_of(operator.get(reverse("reports-new"), {"job": f"{of.cluster}/{of.job_id}"}))
    assert f'value="{of.cluster}/{of.job_id}" checked' in page
    assert f'value="{other.cluster}/{other.job_id}">' in page


def test_a_job_that_is_past_is_proposed_with_its_whole_life(operator):
    seen()
    of = job(
        at=T0, terminal=True, state="FINISHED", start_time=T0 - timedelta(hours=2), end_time=T0
    )
    page = text_of(operator.get(reverse("reports-new"), {"job": f"{of.cluster}/{of.job_id}"}))
    assert 'value="2026-03-01T02:06:24Z"' in page


def test_while_it_is_made_its_page_asks_again_and_reloads_at_the_end(viewer):
    report = waiting(state=ReportState.RUNNING)
    page = text_of(viewer.get(reverse("report", args=(report.uid,))))
    assert 'hx-trigger="every 2s"' in page
    IncidentReport.objects.update(state=ReportState.FAILED, error="No lake.")
    part = viewer.get(reverse("report-progress", args=(report.uid,)))
    assert part.headers["HX-Refresh"] == "true"
    assert "No lake." in text_of(part)


@pytest.mark.parametrize(("form", "begins"), [("html", b"<!doctype html>"), ("json", b"{")])
def test_every_form_is_taken_along_as_a_file(viewer, made, form, begins):
    answer = viewer.get(reverse("report-download", args=(made.uid, form)))
    assert answer.content.startswith(begins)
    assert answer.headers["Content-Disposition"].startswith(
        'attachment; filename="weir-incident-20260301-0340-'
    )


def test_the_whole_file_opens_in_a_sandbox_of_its_own(viewer, made):
    answer = viewer.get(reverse("report-open", args=(made.uid,)))
    assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]
    assert answer.content.startswith(b"<!doctype html>")


def test_a_hostile_name_is_only_text_on_every_page(operator):
    seen()
    of = expiring(HOSTILE)
    report = orders.request_report(scope(of), user=None, name=HOSTILE, at=timezone.now())
    perform(work_keys.key_of(report.pk))
    for address in (
        reverse("reports"),
        reverse("report", args=(report.uid,)),
        reverse("reports-new"),
    ):
        page = text_of(operator.get(address))
        assert "<script>document.title" not in page
        assert "&lt;script&gt;document.title" in page


def test_the_list_pages_and_its_queries_do_not_grow(
    viewer, django_assert_max_num_queries, django_assert_num_queries
):
    waiting(title="first", state=ReportState.DONE, tone="ok")
    with django_assert_max_num_queries(LIST_QUERIES) as few:
        viewer.get(reverse("reports"))
    for number in range(40):
        waiting(number, title=f"report {number}")
    cache.clear()
    with django_assert_num_queries(len(few)):
        page = text_of(viewer.get(reverse("reports")))
    assert page.count('class="name"') == 25
    assert "older →" in page


def test_the_queries_of_a_reports_page_do_not_depend_on_what_it_tells(
    viewer, made, django_assert_max_num_queries
):
    with django_assert_max_num_queries(PAGE_QUERIES):
        viewer.get(reverse("report", args=(made.uid,)))


def test_an_empty_list_says_what_to_do(operator):
    assert "Make one" in text_of(operator.get(reverse("reports")))


@pytest.mark.parametrize("uid", ["rep_nope", "rep_../../etc/passwd", UID])
def test_a_report_that_is_not_there_is_not_found(viewer, uid):
    assert viewer.get(f"/reports/{uid}/").status_code == 404


def test_a_report_of_another_version_says_so(viewer, made):
    made.document["version"] = 99
    made.save()
    assert "Another version of Weir made this report" in text_of(
        viewer.get(reverse("report", args=(made.uid,)))
    )
    assert viewer.get(reverse("report-download", args=(made.uid, "html"))).status_code == 404
