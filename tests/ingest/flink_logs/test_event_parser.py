"""The pattern table, entry by entry, and what is derived from a stack trace."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.patterns import KIND_OF_PIECE, KINDS, PATTERNS, UNREAD, Pattern
from ingest.flink_logs.reasons import REASON_OF_TEXT, reason_of
from ingest.records import LogRecord
from tests.ingest.flink_logs.example_lines import EXAMPLES, SAMPLE_EXECUTION, TRACE_EXAMPLES
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.selections import for_each

RECORDINGS = Path(__file__).parents[2] / "fixtures" / "recordings"
EXECUTION = "a932b3badd0047fc56bb20dcdd6164f3_9c32e3838cee893dbb2fc90ccad79598_1_2"
JOB = "26eb676de8b3e133f9078fabe3704eb6"
TRACE = (
    "org.apache.flink.util.SerializedThrowable: "
    "org.apache.flink.runtime.checkpoint.CheckpointException: "
    "Asynchronous task checkpoint failed.\n"
    "\tat a.b.C(D.java:1)\nCaused by: java.lang.Exception: Could not materialize\n\t... 4 "
    "more\nCaused by: java.io.IOException: disk full\n"
)


def read(message: str, level: str = "INFO") -> LogEvent | None:
    return event_of(
        LogRecord(
            "jm.log",
            datetime(2026, 11, 21, tzinfo=UTC),
            level,
            "o.a.f.X",
            message,
            "0" * 32,
            0,
            "jm.log",
            0,
        )
    )


@for_each(example=EXAMPLES)
def test_each_example_gives_an_event_of_its_kind(example: tuple[str, str]) -> None:
    kind, line = example
    event = read(line)
    assert event is not None
    assert event.kind == kind
    header = "2026-11-21 04:00:00,001 INFO  a.B [] - "
    assert len(records_of(f"{header}{line}\n".encode(), file="jm.log")) == 1


def test_each_entry_of_the_table_has_an_example() -> None:
    for pattern, (kind, line) in zip(PATTERNS, EXAMPLES, strict=True):
        assert pattern.kind == kind
        assert re.match(pattern.regex, line.partition("\n")[0])
    for piece, (kind, text) in zip(KIND_OF_PIECE, TRACE_EXAMPLES, strict=True):
        assert KIND_OF_PIECE[piece] == kind
        assert piece in text


@for_each(pattern=PATTERNS)
def test_each_entry_keeps_the_rules_of_the_table(pattern: Pattern) -> None:
    assert bool(pattern.starts) != bool(pattern.contains)
    assert re.compile(pattern.regex).groups == len(pattern.fields)
    assert not re.search(r"\\[dswDSWbZz]|\(\?P|\(\?<|\$", pattern.regex)
    assert pattern.regex.startswith("^")


def test_kinds_are_distinct_words() -> None:
    assert len(set(KINDS)) == len(KINDS) > 50


def test_a_decline_names_reason_root_cause_and_task() -> None:
    event = read(
        f"Decline checkpoint 9 by task {EXECUTION} of job {JOB} at tm-1:1-d1 @ host-1 "
        f"(dataPort=4).\n{TRACE}"
    )
    assert event is not None
    assert (event.reason, event.reason_text) == (
        "CHECKPOINT_ASYNC_EXCEPTION",
        "java.io.IOException: disk full",
    )
    assert (event.vertex_id, event.subtask, event.attempt) == (
        "9c32e3838cee893dbb2fc90ccad79598",
        1,
        2,
    )
    assert (event.container, event.host) == ("tm-1:1-d1", "host-1")


def test_a_decline_of_1_13_names_its_reason_though_its_trace_names_no_class() -> None:
    event = read(
        "Decline checkpoint 3 by task 9bd16aaa79e774f40ae3dc16002c18a1 of job "
        "81bd2ace6351393cc8b14933228b9ab4 at "
        "flink-tm-1:40099-a50ca3 @ flink-tm-1 (dataPort=38519).\n"
        "org.apache.flink.util.SerializedThrowable: Asynchronous task checkpoint failed.\n"
        "\tat "
        "org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable.run(AsyncCheckpointRunnable.java:175)\n"
        "Caused by: org.apache.flink.util.SerializedThrowable: Could not materialize checkpoint 3 "
        "for operator enrich (2/2)#0.\n"
        "\t... 4 more\n"
        "Caused by: org.apache.flink.util.SerializedThrowable: could not flush to checkpoint "
        "storage\n\t... 3 more\n"
    )
    assert event is not None
    assert (event.kind, event.reason) == ("checkpoint_declined", "CHECKPOINT_ASYNC_EXCEPTION")


OLD_TASK = "0b60f08bf8984085b59f8d9bc74ce2e1"
OLD_JOB = "85d268e6fbc19411185f7e4868a44178"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            f"Decline checkpoint 10423 by task {OLD_TASK} of job {OLD_JOB}",
            {
                "kind": "checkpoint_declined",
                "checkpoint_id": 10423,
                "execution_id": OLD_TASK,
                "job_id": OLD_JOB,
            },
        ),
        (
            f"Received late message for now expired checkpoint attempt 1 from {OLD_TASK} of job "
            f"{OLD_JOB}.",
            {
                "kind": "late_message",
                "checkpoint_id": 1,
                "execution_id": OLD_TASK,
                "job_id": OLD_JOB,
            },
        ),
        (
            "Deploying XXXXXXXXXXX (100/289) (attempt #0) to slot "
            "container_e24_1566836790522_8088_04_013155_1 on hostnameABCDE",
            {
                "kind": "task_deployed",
                "subtask": 99,
                "container": "container_e24_1566836790522_8088_04_013155_1",
                "host": "hostnameABCDE",
            },
        ),
        (
            "Starting checkpoint (6751) CHECKPOINT on task Source: a (1/2) -> b (3/4)",
            {
                "kind": "checkpoint_sync_started",
                "checkpoint_id": 6751,
                "task": ("Source: a (1/2) -> b"),
                "subtask": 2,
                "parallelism": 4,
            },
        ),
        (
            "DefaultOperatorStateBackend snapshot (FsCheckpointStorageLocation "
            "{fileSystem=org.apache.flink.core.fs.SafetyNetWrapperFileSystem@70442baf, "
            "checkpointDirectory=xxxxxxxx, sharedStateDirectory=xxxxxxxx, "
            "taskOwnedStateDirectory=xxxxxx, metadataFilePath=xxxxxx, reference=(default), "
            "fileStateSizeThreshold=1024}, synchronous part) in thread Thread[Async calls on "
            "Source: xxxxxx _source -> Filter (27/70),5,Flink Task Threads] took 0 ms.",
            {
                "kind": "backend_sync_done",
                "task": ("Source: xxxxxx _source -> Filter"),
                "subtask": 26,
                "duration_ms": 0,
            },
        ),
        (
            "x snapshot (y, asynchronous part) in thread Thread[pool-48-thread-14,5,Flink Task "
            "Threads] took 369 ms",
            {"kind": "backend_async_done", "duration_ms": 369, "checkpoint_id": None},
        ),
    ],
)
def test_lines_of_releases_before_1_9_are_read(line: str, told: dict[str, object]) -> None:
    """As published by people who looked for the cause of slow checkpoints by them."""
    event = read(line)
    assert event is not None
    assert {name: getattr(event, name) for name in told} == told


def test_an_unaligned_checkpoint_has_no_alignment_when_its_synchronous_part_is_done() -> None:
    line = (
        "parse (2/2)#0 - finished synchronous part of checkpoint 7. Alignment duration: 0 ms, "
        "snapshot duration -1 ms"
    )
    unaligned, aligned, before_1_13 = (
        read(line + end)
        for end in (", is unaligned checkpoint : true", ", is unaligned checkpoint : false", "")
    )
    assert unaligned and aligned and before_1_13
    assert (unaligned.alignment_ms, aligned.alignment_ms, before_1_13.alignment_ms) == (None, 0, 0)


def test_an_old_attempt_id_tells_no_vertex() -> None:
    event = read(f"Decline checkpoint 9 by task {JOB} of job {JOB} at tm-1 @ host-1 (dataPort=4).")
    assert event is not None
    assert (event.execution_id, event.vertex_id, event.subtask) == (JOB, None, None)


@pytest.mark.parametrize("text", REASON_OF_TEXT)
def test_each_reason_is_known_by_its_sentence_in_a_refusal(text: str) -> None:
    event = read(f"Failed to trigger checkpoint for job {JOB} since {text}.")
    assert event is not None
    assert event.reason == REASON_OF_TEXT[text]


def test_another_sentence_is_no_reason() -> None:
    assert reason_of("nothing of the kind") is None


def test_a_failed_task_names_a_well_known_cause() -> None:
    message = (
        f"enrich (2/4) ({EXECUTION}) switched from RUNNING to FAILED on tm-1 @ host-1 "
        "(dataPort=4).\n"
    )
    event = read(
        message
        + (
            "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException: Partition "
            "1#0 not found.\n"
        )
    )
    assert event is not None
    assert (event.from_state, event.to_state, event.reason) == (
        "RUNNING",
        "FAILED",
        "PARTITION_NOT_FOUND",
    )


def test_a_trace_alone_tells_of_an_rpc_time_out_when_it_is_a_warning() -> None:
    message = f"Something went wrong.\n{TRACE_EXAMPLES[-1][1]}\n"
    assert (event := read(message, "WARN")) is not None
    assert event.kind == "rpc_timeout"
    assert read(message, "INFO") is None


def test_a_savepoint_is_told_from_a_checkpoint() -> None:
    told = [
        read(f"Triggering checkpoint 7 (type={kind}) @ 1795234350123 for job {JOB}.")
        for kind in (
            "SavepointType{name='Savepoint', postCheckpointAction=NONE, formatType=CANONICAL}",
            "SAVEPOINT",
            "CHECKPOINT",
        )
    ]
    assert [event and event.is_savepoint for event in told] == [True, True, False]


@given(
    name=st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=80)
)
def test_any_task_name_is_read_whole(name: str) -> None:
    event = read(f"{name} (3/4)#1 ({EXECUTION}) switched from DEPLOYING to RUNNING.")
    assert event is not None
    assert (event.task or "", event.to_state) == (name.replace("\x01", ""), "RUNNING")


@given(
    name=st.text(st.characters(exclude_characters="\n", exclude_categories=("Cs",)), max_size=80)
)
def test_any_job_name_is_read_whole(name: str) -> None:
    event = read(f"Job {name} ({JOB}) switched from state RUNNING to FAILING.")
    assert event is not None
    assert (event.job_name or "", event.job_id) == (name.replace("\x01", ""), JOB)


def test_of_a_producers_configuration_only_the_time_out_of_its_transactions_is_read() -> None:
    told = (
        "ProducerConfig values: \n\tacks = -1\n\tclient.id = "
        "producer-orders-0-7\n{}\tvalue.serializer = class a.B\n"
    )
    timeout = "\ttransaction.timeout.ms = 3600000\n"
    none = "\ttransactional.id = null\n"
    named = "\ttransactional.id = orders-0-7\n"
    of_kafka_4 = timeout + "\ttransaction.two.phase.commit.enable = false\n" + named
    for lines in (timeout + named, of_kafka_4):
        event = read(told.format(lines))
        assert event and (event.kind, event.timeout_ms, event.detail) == (
            "transaction_timeout_set",
            3_600_000,
            None,
        )
    for lines in ("", timeout, timeout + none, named):
        assert read(told.format(lines)) is None


FORMS = {
    "of Kubernetes": {JOB: "orders-7f", EXECUTION: "orders-7f-task-3"},
    "with numbers": {JOB: "0", EXECUTION: f"{EXECUTION.partition('_')[0]}_0_0"},
    "longer": {JOB: f"{JOB}{JOB}", EXECUTION: f"{EXECUTION}_7"},
}


@for_each(
    line=[
        line
        for kind, line in EXAMPLES
        if kind != "blob_download" and ("26eb676d" in line or "a932b3ba" in line)
    ],
    form=FORMS,
)
def test_an_event_is_found_where_ids_have_a_form_that_nobody_has_seen(line: str, form: str) -> None:
    changed = (
        line.replace(f"chk/{JOB}", "chk/x")
        .replace(SAMPLE_EXECUTION, FORMS[form][EXECUTION])
        .replace(JOB, FORMS[form][JOB])
    )
    event, honest = read(changed), read(line)
    assert event is not None and honest is not None
    assert (event.kind, event.checkpoint_id, event.to_state, event.state_bytes) == (
        honest.kind,
        honest.checkpoint_id,
        honest.to_state,
        honest.state_bytes,
    )
    assert event.job_id in (None, honest.job_id)


def test_an_attempt_whose_id_has_fewer_parts_keeps_it_and_its_task() -> None:
    event = read(f"Source: clicks (1/2) ({'ab' * 16}_0_0) switched from RUNNING to FAILED on x.")
    assert event is not None
    assert (event.kind, event.execution_id, event.vertex_id, event.subtask, event.task) == (
        "task_state",
        f"{'ab' * 16}_0_0",
        None,
        0,
        "Source: clicks",
    )


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("Completed checkpoint number five of job x", "Completed checkpoint"),
        ("Decline checkpoint 9 (task 7)", "Decline checkpoint"),
        ("x is now switched from RUNNING to FAILED", "switched from"),
    ],
)
def test_a_line_that_begins_as_a_known_one_and_reads_otherwise_is_told_as_such(
    line: str, begins: str
) -> None:
    event = read(line)
    assert event is not None and (event.kind, event.reason, event.message) == (UNREAD, begins, line)


@pytest.mark.parametrize(
    "line",
    ["Job x is submitted.", "Found existing storage", "Checkpoint storage is set to 'filesystem'"],
)
def test_lines_that_share_one_word_with_a_known_one_are_not(line: str) -> None:
    assert read(line) is None


@pytest.mark.parametrize(
    "log",
    sorted(RECORDINGS.glob("*/*/logs/*.log"))[::4],
    ids=lambda log: f"{log.parts[-4]}-{log.parts[-3]}",
)
def test_no_line_of_a_release_that_is_known_is_unread(log: Path) -> None:
    assert not [
        event
        for event in map(event_of, records_of(log.read_bytes(), file="x.log"))
        if event and event.kind == UNREAD
    ]


@for_each(
    attributes=[
        "",
        "[" * 100_000,
        "[]",
        '{"job_id": 7, "newJobStatus": "FAILED"}',
        f'{{"job_id": "{JOB}", "newJobStatus": "FAILED {JOB}"}}',
        f'{{"job_id": "{JOB}/..", "newJobStatus": "FAILED"}}',
    ]
)
def test_a_line_that_only_looks_like_a_report_of_flink_is_no_event(attributes: str) -> None:
    assert read(f"Flink reported JobStatusChangeEvent {attributes}") is None
