"""Making a report as due work: to the end, again after whatever went wrong, and given up in the
end.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp.builders import T0
from tests.webapp.reports.stories import expiring, lines, scope, seen
from webapp.lib.refusals import ActionRefused
from webapp.lib.scoped_rows import JobKey
from webapp.reports import orders, work_keys
from webapp.reports.choices import ReportState
from webapp.reports.models import IncidentReport
from webapp.reports.report_scope import BadScope, checked
from webapp.reports.stored_reports import content, document_of
from webapp.work import registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import Performed, perform


@pytest.fixture
def asked(db) -> IncidentReport:
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


def test_a_made_report_names_itself_and_keeps_its_document(asked):
    made = make(asked)
    assert (made.state, made.tone) == (ReportState.DONE, "crit")
    assert made.title == "clickstream: Checkpoints expired"
    assert b"slow-enrich" in content(made, "html")
    assert PipelineRun.objects.get(kind="reports").counts["parts"] == 4


def test_jobs_that_are_gone_leave_a_report_that_says_so(asked):
    asked.jobs = [["prod-eu", "gone"]]
    asked.save()
    made = make(asked)
    assert made.title == "None of these jobs is known"
    unknown = lines(document_of(made).pages, "What is not known")
    assert "Nothing is known of job gone on prod-eu." in unknown


def test_a_report_deleted_while_it_waits_is_not_made(asked):
    orders.delete(asked)
    assert perform(work_keys.key_of(asked.pk), even_if_not_due=True).state == Performed.IDLE


def test_jobs_that_nobody_ever_saw_are_refused(db):
    with pytest.raises(BadScope, match="ever seen"):
        orders.request_report(
            checked([JobKey("a", "b")], T0, T0 + timedelta(hours=1)), user=None, name="", at=T0
        )


def test_orders_that_pile_up_are_refused(asked, monkeypatch):
    monkeypatch.setattr(orders, "MOST_WAITING", 1)
    with pytest.raises(ActionRefused):
        orders.request_report(orders.scope_of(asked), user=None, name="olga", at=timezone.now())
