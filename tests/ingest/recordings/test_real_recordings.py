"""Every shipped recording against the plain summary beside it and against its own payloads."""

import re
from collections import defaultdict
from datetime import datetime
from functools import cache

import pytest

from ingest.flink_rest.routing import job_of
from ingest.records import (
    Checkpoint,
    Job,
    JobException,
    LogRecord,
    Skip,
    TaskManager,
    VertexCheckpoint,
    VertexMetrics,
)
from tests.ingest.recorded import ALL, RECORDINGS, answers, observed

CKPT = re.compile(
    r"ckpt (\w{6}) (\d+) (\w+) (SP )?\s*size (\S+) full (\S+) ms (\S+) ack (\d+)/(\d+) ?(.*)"
)
POOLS = re.compile(
    r"(\w{6}) (.{28}) (\d+) busy (\S+) bp (\S+) idle (\S+) in (\S+) excl \S+ float (\S+) out "
    r"(\S+) recIn (\S+)"
)
POOL_COLUMNS = (
    "busy_ms_per_s", "backpressured_ms_per_s", "idle_ms_per_s", "in_pool_usage",
    "floating_usage", "out_pool_usage", "records_in_per_s",
)  # fmt: skip


@cache
def records(recording):
    return tuple(observed(recording))


def of_type(kind, recording):
    return [record for _, _, record in records(recording) if isinstance(record, kind)]


def figures(recording, pattern):
    return [
        found.groups()
        for line in (RECORDINGS / recording / "figures.txt").read_text().splitlines()
        if (found := pattern.match(line))
    ]


def number(text):
    return None if text in ("-", "None") else float(text)


def known(value):
    return None if value == -1 else value


def epoch_ms(instant: datetime | None):
    return None if instant is None else round(instant.timestamp() * 1000)


@pytest.mark.parametrize("recording", ALL)
def test_each_checkpoint_of_the_summary_is_there_with_its_sizes_and_duration(recording):
    newest = {
        (record.job_id[:6], record.checkpoint_id, record.status): record
        for record in of_type(Checkpoint, recording)
    }
    told = figures(recording, CKPT)
    assert told
    for (
        job,
        checkpoint_id,
        status,
        savepoint,
        uploaded,
        full,
        duration,
        acknowledged,
        subtasks,
        message,
    ) in told:
        record = newest[job, int(checkpoint_id), status]
        assert (record.checkpointed_bytes, record.state_bytes, record.end_to_end_ms) == (
            number(uploaded),
            number(full),
            number(duration),
        )
        assert (record.acknowledged, record.subtasks, record.is_savepoint) == (
            int(acknowledged),
            int(subtasks),
            bool(savepoint),
        )
        assert (record.failure_message or "").startswith(message)


@pytest.mark.parametrize("recording", ALL)
def test_each_sight_of_a_checkpoint_is_there_with_its_trigger_time(recording):
    told = {
        (record.job_id, record.checkpoint_id, epoch_ms(record.trigger_time), record.status)
        for record in of_type(Checkpoint, recording)
    }
    for answer in answers(recording):
        if answer.endpoint.endswith("/checkpoints"):
            for entry in answer.body["history"]:
                assert (
                    job_of(answer.path),
                    entry["id"],
                    entry["trigger_timestamp"],
                    entry["status"],
                ) in told


@pytest.mark.parametrize("recording", ALL)
def test_each_subtask_answer_is_there_number_by_number(recording):
    told = {
        (epoch_ms(at), record.job_id, record.checkpoint_id, record.vertex_id): record
        for at, _, record in records(recording)
        if isinstance(record, VertexCheckpoint)
    }
    compared = 0
    for answer in answers(recording):
        if "/checkpoints/details/" not in answer.path or "/subtasks/" not in answer.path:
            continue
        body = answer.body
        record = told[
            epoch_ms(answer.at), job_of(answer.path), body["id"], answer.path.split("/")[-1]
        ]
        assert (record.status, record.acknowledged) == (
            body["status"],
            body["num_acknowledged_subtasks"],
        )
        for subtask in body["subtasks"]:
            index = subtask["index"]
            done = subtask["status"] == "completed"
            assert epoch_ms(record.subtask_ack_time[index]) == (
                subtask["ack_timestamp"] if done else None
            )
            assert record.subtask_async_ms[index] == (
                known(subtask["checkpoint"]["async"]) if done else None
            )
            assert record.subtask_alignment_ms[index] == (
                known(subtask["alignment"]["duration"]) if done else None
            )
            assert record.subtask_state_bytes[index] == (subtask["state_size"] if done else None)
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("recording", ALL)
def test_pools_and_times_of_each_subtask_have_the_means_of_the_summary(recording):
    names = {
        vertex.vertex_id: vertex.name
        for job in of_type(Job, recording)
        for vertex in job.vertices or ()
    }
    series = defaultdict(lambda: defaultdict(list))
    for sample in of_type(VertexMetrics, recording):
        for column in POOL_COLUMNS:
            for subtask, value in enumerate(getattr(sample, column) or ()):
                if value is not None:
                    series[sample.job_id[:6], names[sample.vertex_id][:28].strip(), subtask][
                        column
                    ].append(value)
    for job, vertex, subtask, *means in figures(recording, POOLS):
        for column, mean in zip(POOL_COLUMNS, means, strict=True):
            values = series[job, vertex.strip(), int(subtask)][column]
            half = values[len(values) // 2 :]
            expected = number(mean)
            # The summary took the other spelling of pool usages, gauges that are read a moment
            # apart.
            if column.endswith("_usage") and len(half) < 5:
                continue
            near = 0.15 if column.endswith("_usage") else 0.01
            assert (expected is None and not half) or sum(half) / len(half) == pytest.approx(
                expected, abs=near
            ), column


@pytest.mark.parametrize("recording", ALL)
def test_each_job_is_there_with_its_last_state(recording):
    states = {record.job_id: record.state for record in of_type(Job, recording)}
    last = next(
        answer for answer in reversed(answers(recording)) if answer.path == "/jobs/overview"
    )
    assert states == {entry["jid"]: entry["state"] for entry in last.body["jobs"]}
    assert {record.flink_version for record in of_type(Job, recording)} == {recording.split("/")[0]}


@pytest.mark.parametrize("recording", ALL)
def test_each_taskmanager_and_each_exception_is_there(recording):
    listed = {
        entry["id"]
        for answer in answers(recording)
        if answer.path == "/taskmanagers"
        for entry in answer.body["taskmanagers"]
    }
    assert {record.taskmanager_id for record in of_type(TaskManager, recording)} == listed
    entries = [
        entry
        for answer in answers(recording)
        if answer.endpoint.endswith("/exceptions")
        for entry in answer.body.get("exceptionHistory", {}).get("entries", ())
    ]
    assert {
        epoch_ms(record.ts) for record in of_type(JobException, recording) if record.is_root
    } == {entry["timestamp"] for entry in entries}


@pytest.mark.parametrize("recording", ALL)
def test_recorded_times_are_kept(recording):
    first, last = answers(recording)[0].at, answers(recording)[-1].at
    rest = [at for at, source, _ in records(recording) if source == "rest"]
    assert abs((min(rest) - first).total_seconds()) < 30
    assert abs((max(rest) - last).total_seconds()) < 30


@pytest.mark.parametrize("recording", ALL)
def test_logs_of_every_process_are_there(recording):
    files = {path.name for path in (RECORDINGS / recording / "logs").glob("*.log")}
    assert {record.process for record in of_type(LogRecord, recording)} == files


@pytest.mark.parametrize("recording", ALL)
def test_only_answers_that_failed_are_skipped(recording):
    assert {record.reason for record in of_type(Skip, recording)} <= {
        "http_error",
        "unreachable",
        "timeout",
    }


def test_a_job_asked_after_its_end_is_told_once_and_then_left_alone():
    ended = [record for record in of_type(Job, "1.20.5/H") if record.state == "CANCELED"]
    assert len(ended) <= 2 * len({record.job_id for record in ended})
