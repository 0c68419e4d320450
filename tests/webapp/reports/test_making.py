"""Making a report as due work: to the end, again after whatever went wrong, and given up in the
end.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.builders import T0
from tests.webapp.reports.stories import expiring, scope, seen
from webapp.lib.refusals import ActionRefused
from webapp.reports import orders, work_keys
from webapp.reports.choices import ReportState
from webapp.reports.execution import MOST_ATTEMPTS
from webapp.reports.folder import ReportFolder
from webapp.reports.gathering.scope import BadScope, JobKey, checked
from webapp.reports.models import IncidentReport
from webapp.reports.stored_reports import Gone, content, forms_of
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import Performed, perform


@pytest.fixture
def asked(db, no_chromium) -> IncidentReport:
    seen()
    return orders.request_report(scope(expiring()), user=None, name="olga", at=timezone.now())


def make(report: IncidentReport) -> IncidentReport:
    performed = perform(work_keys.key_of(report.pk), even_if_not_due=True)
    assert performed.state == Performed.DONE
    report.refresh_from_db()
    return report


def test_a_report_that_was_asked_for_is_due_at_once_and_no_longer_once_it_is_made(asked):
    key = work_keys.key_of(asked.pk)
    assert DueWork.objects.due(timezone.now()).filter(key=key).exists()
    assert key in registry.intervals_s()
    assert registry.work_of(key).task.queue == "default"
    make(asked)
    assert key not in registry.intervals_s()


def test_a_made_report_names_itself_and_keeps_its_document_and_files(asked):
    made = make(asked)
    assert (made.state, made.progress, made.tone) == (ReportState.DONE, 100, "crit")
    assert made.title == "clickstream: Checkpoints expired"
    assert sorted(path.name for path in ReportFolder(made.uid).path.iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]
    assert PipelineRun.objects.get(kind="reports").counts["parts"] == 5


def test_without_a_browser_there_is_no_pdf_and_the_report_says_why(asked):
    made = make(asked)
    assert "Install it, or set WEIR_CHROMIUM" in made.without_pdf
    assert {one.form: bool(one.why_not) for one in forms_of(made)} == {
        "html": False,
        "pdf": True,
        "md": False,
        "json": False,
    }
    with pytest.raises(Gone, match="WEIR_CHROMIUM"):
        content(made, "pdf")


def test_files_that_are_gone_are_made_again_from_the_document(asked):
    made = make(asked)
    before = content(made, "md")
    ReportFolder(made.uid).remove()
    assert content(made, "md") == before
    assert b"slow-enrich" in content(made, "html")


def test_what_stands_in_the_way_of_its_files_is_tried_again_and_given_up_in_the_end(
    asked, reports_root
):
    reports_root.write_text("a file where a folder should be")
    for attempt in range(1, MOST_ATTEMPTS + 1):
        with pytest.raises(OSError, match=r"Not a directory|File exists"):
            perform(work_keys.key_of(asked.pk), even_if_not_due=True)
        asked.refresh_from_db()
        assert asked.attempts == attempt
    assert asked.state == ReportState.FAILED
    assert "It was tried 4 times." in asked.error
    reports_root.unlink()
    assert orders.again(asked, timezone.now())
    assert make(asked).state == ReportState.DONE


def test_jobs_that_are_gone_leave_a_report_that_says_so(asked):
    asked.jobs = [["prod-eu", "gone"]]
    asked.save()
    made = make(asked)
    assert made.title == "None of these jobs is known"
    unknown = made.document["appendix"][-1]["document"]["blocks"]
    assert {"kind": "not_known", "reason": "Nothing is known of job gone on prod-eu."} in unknown


def test_a_report_deleted_while_it_waits_is_not_made(asked):
    orders.delete(asked)
    assert perform(work_keys.key_of(asked.pk), even_if_not_due=True).state == Performed.IDLE


def test_a_deleted_report_takes_its_files_along(asked, django_capture_on_commit_callbacks):
    made = make(asked)
    with django_capture_on_commit_callbacks(execute=True):
        orders.delete(made)
    assert not ReportFolder(made.uid).path.exists()


def test_jobs_that_nobody_ever_saw_are_refused(db):
    with pytest.raises(BadScope, match="ever seen"):
        orders.request_report(
            checked([JobKey("a", "b")], T0, T0 + timedelta(hours=1)), user=None, name="", at=T0
        )


def test_orders_that_pile_up_are_refused(asked, monkeypatch):
    monkeypatch.setattr(orders, "MOST_WAITING", 1)
    with pytest.raises(ActionRefused):
        orders.request_report(orders.scope_of(asked), user=None, name="olga", at=timezone.now())


def test_one_that_is_made_is_not_made_again(asked):
    assert not orders.again(make(asked), timezone.now())
