"""Excerpts of logs after public reports (``tests/fixtures/field/logs``): each line that says why is
an event with its reason.
"""

from functools import cache
from pathlib import Path

import pytest

from ingest.flink_logs.event_parser import without_logger
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of

LOGS = Path(__file__).parents[2] / "fixtures" / "field" / "logs"


@cache
def events(name):
    (path,) = LOGS.glob(f"{name}_*")
    records = records_of(path.read_bytes(), file=path.name)
    return [event for event in map(event_of, records) if event]


def read(text):
    return [event for event in map(event_of, records_of(text.encode(), file="x.log")) if event]


@pytest.mark.parametrize(
    ("name", "kind", "in_reason"),
    [
        ("c02", "worker_terminated", "exitCode=137, reason=OOMKilled"),
        ("c02", "tm_disconnected", "exitCode=137, reason=OOMKilled"),
        ("c03", "taskmanager_fatal", "OutOfMemoryError: Metaspace"),
        ("c04", "task_state", "StateMigrationException"),
        ("c05", "job_terminal", "e30ccce83304773b609843a7d9d3e8d7"),
        ("c09", "transaction_lost", "InvalidTxnStateException"),
        ("c09", "transaction_unconfirmed", "InvalidTxnStateException"),
        ("c12", "jobmanager_fatal", "HoodieIOException"),
        ("c16", "slots_missing", "Registered TMs: 0"),
        ("c24", "jobmanager_fatal", "completedCheckpoint4d1c2f7a99aa"),
        ("c46", "task_state", "RocksDBException: Insert failed"),
    ],
)
def test_a_line_that_says_why_is_an_event_with_its_reason(name, kind, in_reason):
    assert any(
        event.kind == kind and in_reason in (event.reason_text or "") for event in events(name)
    )


@pytest.mark.parametrize(("name", "count"), [("c12", 1), ("c24", 1)])
def test_a_fatal_error_of_the_entrypoint_names_its_job(name, count):
    fatal = [event for event in events(name) if event.kind == "jobmanager_fatal"]
    assert [event.job_id for event in fatal] == ["5f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5"] * count


def test_how_many_slots_a_job_needs_is_read():
    assert [event.count for event in events("c16") if event.kind == "slots_required"] == [4]


def test_a_reason_that_was_not_filled_in_is_taken_from_the_trace():
    (event,) = events("c14b")
    assert (event.reason, event.kind) == ("TASK_CHECKPOINT_FAILURE", "trigger_failed")
    assert "unknown task" in event.reason_text


def test_managed_flink_as_logs_insights_exports_it():
    first, second = events("c17b")
    assert {(event.checkpoint_id, event.reason) for event in (first, second)} == {
        (41, "CHECKPOINT_EXPIRED")
    }
    assert first.ts.isoformat() == "2025-03-12T09:14:02.118000+00:00"


FAILED = (
    '"logger": "org.apache.flink.runtime.checkpoint.CheckpointFailureManager", "message": "Failed '
    "to "
    "trigger or complete checkpoint 41 for job 5f0c1d2e3a4b5c6d7e8f90a1b2c3d4e5. (0 consecutive "
    'failed attempts so far)", "messageType": "WARN", "throwableInformation": "org.apache.flink.'
    'runtime.checkpoint.CheckpointException: Checkpoint expired before completing."'
)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            f"2025-03-12T09:14:02.118000+00:00 kinesis-analytics-log-stream {{{FAILED}}}\n",
            id="aws logs tail",
        ),
        pytest.param(
            '@timestamp,@message\n2025-03-12 09:14:02.118,"{' + FAILED.replace('"', '""') + '}"\n',
            id="CSV of Logs Insights",
        ),
        pytest.param(
            '{"logStreamName": "s", "timestamp": 1741770842118, "message": "{'
            + FAILED.replace('"', '\\"')
            + '}", "ingestionTime": 1741770843000}\n',
            id="log events",
        ),
    ],
)
def test_managed_flink_in_other_forms_of_cloudwatch(line):
    (event,) = read(line)
    assert (event.kind, event.checkpoint_id, event.reason) == (
        "checkpoint_failed",
        41,
        "CHECKPOINT_EXPIRED",
    )
    assert event.ts.isoformat() == "2025-03-12T09:14:02.118000+00:00"


def test_the_logger_behind_the_message_is_found_by_itself():
    assert [(event.kind, event.checkpoint_id) for event in events("c25")] == [
        ("checkpoint_triggered", 2),
        ("checkpoint_completed", 2),
        ("checkpoint_completed", 4),
    ]


def test_a_source_is_not_taken_for_a_logger():
    (event,) = events("d06")
    assert event.task == "Source: Custom Source -> Map -> Sink: Unnamed"
    assert (event.from_state, event.to_state) == ("SCHEDULED", "FAILED")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Done. (org.apache.flink.runtime.X:12)", "Done."),
        ("Done. (org.apache.flink.runtime.X)", "Done."),
        ("Done. [ExecutionGraph flink-akka.actor.default-dispatcher-2]", "Done."),
        ("Done. (0 consecutive failed attempts so far)", None),
        ("Starting job a from savepoint b (allowing non restored state)", None),
        ("enrich (1/2) switched from SCHEDULED to FAILED on [unassigned resource]", None),
        ("Acquired: [Cpu{1} Heap{2}]", None),
    ],
)
def test_only_a_logger_is_taken_off_the_end_of_a_line(line, message):
    assert without_logger(line) == (line if message is None else message)


@pytest.mark.parametrize(
    ("line", "kind", "reason", "job"),
    [
        (
            "Closing TaskExecutor connection container_e24_1_01_000003 because: Container "
            "container_e24_1_01_000003 marked as failed.\n Exit code:137. Diagnostics: killed",
            "tm_disconnected",
            "Exit code:137. Diagnostics: killed",
            None,
        ),
        (
            "RECEIVED SIGNAL 15: SIGTERM. Shutting down as requested.",
            "signal_received",
            "SIGTERM",
            None,
        ),
        (
            "Connection to ZooKeeper suspended. Can no longer retrieve the leader from ZooKeeper.",
            "zookeeper_lost",
            "Can no longer retrieve",
            None,
        ),
        (
            "Fatal error occurred in ResourceManager.\njava.lang.IllegalStateException: no lease",
            "jobmanager_fatal",
            "no lease",
            None,
        ),
        (
            "Worker container_1_000004(node-7:8041) is terminated. Diagnostics: Container "
            "container_1_000004 was preempted by yarn.",
            "worker_terminated",
            "preempted by yarn",
            None,
        ),
        (
            "JobManager for job 26eb676de8b3e133f9078fabe3704eb6 with leader id 9c2e lost "
            "leadership.",
            "leadership_lost",
            "",
            "26eb676de8b3e133f9078fabe3704eb6",
        ),
        (
            "Discarding message.\nakka.remote.OversizedPayloadException: Discarding oversized "
            "payload sent to Actor[akka.tcp://flink@jm:6123/]",
            "rpc_too_large",
            "oversized payload",
            None,
        ),
        (
            "Association to [akka.tcp://flink@tm:6122] with UID [-1] irrecoverably failed. It is "
            "now quarantined until the system is restarted.",
            "association_quarantined",
            "",
            None,
        ),
        (
            "Could not register.\norg.apache.flink.runtime.taskexecutor.exceptions."
            "RegistrationTimeoutException: Could not register at the ResourceManager within the "
            "specified maximum registration duration PT5M.",
            "registration_failed",
            "maximum registration duration",
            None,
        ),
        (
            "Retrying after exception.\ncom.amazonaws.services.s3.model.AmazonS3Exception: Please "
            "reduce your request rate. (Service: Amazon S3; Status Code: 503; Error Code: "
            "SlowDown)",
            "store_throttled",
            "SlowDown",
            None,
        ),
    ],
)
def test_siblings_of_these_lines(line, kind, reason, job):
    header = "2026-11-20 08:00:00,001 WARN  org.apache.flink.runtime.X    [] - "
    (event,) = read(f"{header}{line}\n")
    assert (event.kind, event.job_id) == (kind, job)
    assert reason in (event.reason_text or "")
