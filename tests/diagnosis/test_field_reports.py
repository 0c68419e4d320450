"""What people reported of failing jobs, line by line (``tests/fixtures/field/reports.log``): each is
an event that gives its cause away, and a finding with the next step of that cause. What happened, and
where it was reported: ``tests/fixtures/field/README.md``.
"""

from pathlib import Path

from spark_jobs.diagnosis.checkpoint_reasons import words_of
from spark_jobs.diagnosis.failure_causes.table import (
    UNKNOWN,
    cause_by_code,
    cause_of_failure,
    code_of,
)
from spark_jobs.diagnosis.samples import Annotation
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from tests.diagnosis.jobs import checkpoint, event, failure, found, minutely, ms, restart, window
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.selections import for_each

FIELD = Path(__file__).parents[1] / "fixtures" / "field"
LOST_TRACE = (
    "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id tm-1 timed out.\n"
)
RULE_OF = {
    "checkpoint_expired": "checkpoint.expired",
    "checkpoint_failed": "checkpoint.failed",
    "cluster_shut_down": "jobmanager.error",
    "enumeration_failed": "data.unread",
    "job_state": "restart.loop",
    "job_terminal": "job.failed",
    "jobmanager_fatal": "jobmanager.crash_loop",
    "program_failed": "jobmanager.error",
    "submission_ignored": "jobmanager.error",
    "task_state": "restart.loop",
    "taskmanager_fatal": "restart.loop",
    "tm_disconnected": "restart.loop",
    "transaction_lost": "sink.transaction_timeout",
    "worker_terminated": "restart.loop",
}
"""By kind of event the rule that says so."""
OWN_STEP = {"checkpoint.expired", "sink.transaction_timeout"}
"""Rules whose next step is made of more than the cause: of which subtask is missing, and of how long
transactions are open.
"""


def reports():
    """Name, kind of the event, code of the cause, lines."""
    for report in (FIELD / "reports.log").read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, lines = report.partition("\n")
        yield *(part.strip() for part in head.split("|")), lines


REPORTS = list(reports())


def read(lines):
    [one] = filter(None, map(event_of, records_of(lines.encode(), file="x.log")))
    return one


def window_of(one):
    """A job that meets it three times, two minutes apart."""
    trace, times = one.detail or one.reason_text or "", (10, 130, 250)
    again = tuple(map(restart, times))
    ran = (checkpoint(1, 60), checkpoint(2, 180))
    told = tuple(
        event(
            at,
            one.kind,
            reason=one.reason,
            message=one.message,
            detail=one.detail,
            fields={"reason_text": one.reason_text, "to_state": one.to_state},
        )
        for at in times
    )
    match one.kind:
        case "task_state" | "job_state":
            thrown = tuple(failure(at, trace) for at in times)
            return window(*ran, annotations=again, failures=thrown, at=260)
        case "job_terminal":
            ended = {"state": "FAILED", "terminal": True}
            return window(failures=(failure(250, trace),), at=260, **ended)
        case "worker_terminated" | "tm_disconnected" | "taskmanager_fatal":
            lost = tuple(
                Annotation(
                    ms(at), TASKMANAGER_LOST, subject="tm-1", detail={"reason": one.reason_text}
                )
                for at in times
                if one.kind != "taskmanager_fatal"
            )
            thrown = tuple(failure(at, LOST_TRACE) for at in times)
            marks = (*again, *lost)
            return window(*ran, annotations=marks, failures=thrown, events=told, at=260)
        case "checkpoint_failed" | "checkpoint_expired":
            lost = {"reason": one.reason, "failure_message": trace or None}
            outcome = one.kind.removeprefix("checkpoint_")
            return window(*minutely(3), checkpoint(4, 180, outcome, took=600, **lost))
        case "program_failed" | "submission_ignored" | "cluster_shut_down":
            return window(events=told, at=260, state=None)
    return window(events=told, at=260)


@for_each(report=REPORTS)
def test_a_reported_line_is_an_event_that_gives_its_cause_away(report):
    _, kind, code, lines = report
    one = read(lines)
    assert one.kind == kind
    assert code_of(cause_of_failure(one.reason_text or "", one.detail)) == code


@for_each(report=REPORTS)
def test_a_report_is_a_finding_with_the_next_step_of_its_cause(report):
    name, kind, code, lines = report
    judged, rule = window_of(read(lines)), RULE_OF[kind]
    [finding] = found(judged, rule)
    assert finding.severity in ("critical", "warning"), name
    if rule in OWN_STEP:
        assert finding.next_step
        return
    if rule == "restart.loop":
        assert finding.data["causes"] == {code: 3}, name
    else:
        assert finding.data["cause"] == code, name
    if code != UNKNOWN:
        assert str(cause_by_code(code).next_step) in finding.next_step, name
    elif rule == "checkpoint.failed":
        assert words_of(judged.checkpoints[-1].reason).next_step in finding.next_step, name


def test_each_report_stands_in_the_table_with_its_link():
    rows = [line for line in (FIELD / "README.md").read_text().splitlines() if line[:3] == "| `"]
    linked = {row.split("`")[1] for row in rows if "](https://" in row}
    assert {name for name, *_ in REPORTS} <= linked
    assert not any("https://example" in row for row in rows)
