"""Archives that Flink 1.20 and 2.3 wrote, against the documents inside them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.history.archives import read_archives
from ingest.records import Checkpoint, Job, VertexCheckpoint, VertexMetrics

ARCHIVES = Path(__file__).parent.parent.parent / "fixtures" / "archives"
VERSIONS = sorted(path.name for path in ARCHIVES.iterdir())
NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def documents(version):
    (path,) = [
        path
        for path in (ARCHIVES / version).rglob("*")
        if path.is_file() and path.name != "application-summary"
    ]
    return {
        entry["path"]: json.loads(entry["json"])
        for entry in json.loads(path.read_bytes())["archive"]
    }


def found(version, kind):
    read = read_archives(str(ARCHIVES / version), "c", None, NOW)
    assert read.skips == ()
    return [
        record
        for observed in read.observed
        for record in observed.records
        if isinstance(record, kind)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_job_is_there_as_it_ended(version):
    (job,) = found(version, Job)
    body = documents(version)[f"/jobs/{job.job_id}"]
    assert (job.name, job.state) == (body["name"], "CANCELED")
    assert job.end_time.timestamp() * 1000 == body["end-time"]
    assert [vertex.name for vertex in job.vertices] == [
        vertex["name"] for vertex in body["vertices"]
    ]
    assert (job.job_type, job.checkpoint_interval_ms) == ("STREAMING", 2000)
    assert any(setting.key.endswith("num-retained") for setting in job.configuration)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_archived_checkpoint_is_there_once_with_its_sizes(version):
    records = {record.checkpoint_id: record for record in found(version, Checkpoint)}
    history = next(
        body for path, body in documents(version).items() if path.endswith("/checkpoints")
    )["history"]
    assert set(records) == {entry["id"] for entry in history}
    assert len(found(version, Checkpoint)) == len(history)
    for entry in history:
        record = records[entry["id"]]
        assert (record.status, record.state_bytes, record.checkpointed_bytes) == (
            entry["status"], entry["state_size"], entry["checkpointed_size"],
        )  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_each_archived_subtask_is_there_and_where_it_ran(version):
    parts = found(version, VertexCheckpoint)
    answers = [
        body
        for path, body in documents(version).items()
        if "/details/" in path and "/subtasks/" in path
    ]
    assert len(parts) == len(answers)
    assert sum(len(part.subtask_sync_ms) for part in parts) == sum(
        len(body["subtasks"]) for body in answers
    )
    assert all(None not in sample.host for sample in found(version, VertexMetrics))
