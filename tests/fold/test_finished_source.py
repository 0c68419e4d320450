"""A source that finishes while a checkpoint is triggered: Flink 1.20.5 of the lab, its JobManager's
log around that instant.
"""

import re
from pathlib import Path

from spark_jobs.diagnosis import registry
from spark_jobs.fold.job import JobResult
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState
from tests.diagnosis.graphs import LIMITS
from tests.fold.pieces import told
from tests.fold.recorded import in_ms
from tests.fold.rows import events
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.task_locations import located

LOG = Path(__file__).parents[1] / "fixtures" / "finishing_source" / "flink-jm.log"
RULE = "checkpoint.declined"


def folded(text: str) -> JobResult:
    records = records_of(text.encode(), file="flink-jm.log")
    rows = [
        {name: getattr(event, name) for name in event.__slots__}
        for event in located(filter(None, map(event_of, records)))
    ]
    job_id = re.search(r"for job ([0-9a-f]{32})", text)[1]  # type: ignore[index]
    found = events(
        {name: in_ms(value) for name, value in row.items()}
        for row in rows
        if row["job_id"] in (job_id, None)
    )
    return told(JobUpdate("c", job_id, events=found), JobState(), Settings())


def test_the_log_is_of_a_source_that_finished_right_before() -> None:
    """Read line by line: the task that its TaskManager did not know had switched to FINISHED
    between the two lines of the trigger.
    """
    text = LOG.read_text()
    unknown = re.search(
        r"checkpoint request for unknown task (\w+)\. Failure reason: Task local checkpoint "
        r"failure\.",
        text,
    )
    assert unknown
    finished = re.search(
        rf"Source: tiny-ids .*\({unknown[1]}\) switched from RUNNING to FINISHED", text
    )
    assert finished and finished.start() < text.index("Triggering checkpoint 2 ") < unknown.start()


def test_such_a_decline_is_information_and_asks_for_nothing() -> None:
    result = folded(LOG.read_text())
    outcomes = {fact["checkpoint_id"]: (fact["outcome"], fact["reason"]) for fact in result.facts}
    assert outcomes[1][0] == "completed"
    assert outcomes[2] == ("declined", "TASK_CHECKPOINT_FAILURE")
    severities = {
        one.severity
        for window in result.windows
        for one in registry.diagnose(window, LIMITS, only=(RULE,)).findings
    }
    assert severities == {"info"}


def test_the_same_log_with_an_exception_of_a_task_is_no_information() -> None:
    """So that it is the reason that makes it benign, and not how the log is read."""
    text = LOG.read_text().replace(
        "Failure reason: Task local checkpoint failure.",
        "Failure reason: Asynchronous task checkpoint failed.",
    )
    severities = {
        one.severity
        for window in folded(text).windows
        for one in registry.diagnose(window, LIMITS, only=(RULE,)).findings
    }
    assert severities and "info" not in severities
