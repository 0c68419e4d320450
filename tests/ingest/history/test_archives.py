"""Archives of finished jobs: both layouts, growing directories, and files that are no archives."""

import json
import os
from datetime import UTC, datetime

import fsspec
import pytest

from ingest.history import archives
from ingest.history.archives import job_readings, read_archives
from ingest.records import Checkpoint, Job, VertexCheckpoint
from tests.ingest.recorded import answers

NOW = datetime(2026, 11, 21, 5, 0, tzinfo=UTC)
JOB = "26eb676de8b3e133f9078fabe3704eb6"
OLD_LAYOUT, NEW_LAYOUT = JOB, f"my-cluster/applications/7a/jobs/{JOB}"


def archive(recording="1.20.5/E", job=JOB, **changes):
    """An archive as Flink writes it, made of the last recorded answer to each path."""
    of_job = [
        answer
        for answer in answers(recording)
        if answer.path.startswith(f"/jobs/{job}") and "?" not in answer.path
    ]
    documents = {answer.path: answer.body for answer in of_job}
    documents |= {
        "/jobs/overview": next(
            answer.body
            for answer in reversed(answers(recording))
            if answer.path == "/jobs/overview"
        )
    }
    documents[f"/jobs/{job}"] = documents[f"/jobs/{job}"] | {
        "state": "CANCELED",
        "end-time": 1795234414000,
    }
    documents |= changes
    return json.dumps(
        {"archive": [{"path": path, "json": json.dumps(body)} for path, body in documents.items()]}
    ).encode()


def put(directory, name, content):
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def read(directory, cursor=None):
    return read_archives(str(directory), "c", cursor, NOW)


def of_type(kind, found):
    return [
        record
        for observed in found.observed
        for record in observed.records
        if isinstance(record, kind)
    ]


@pytest.mark.parametrize("name", [OLD_LAYOUT, NEW_LAYOUT])
def test_a_finished_job_keeps_its_story_in_either_layout(tmp_path, name):
    put(tmp_path, name, archive())
    put(tmp_path, "my-cluster/applications/7a/application-summary", b"{}")
    found = read(tmp_path)
    (job,) = of_type(Job, found)
    assert (job.job_id, job.state) == (JOB, "CANCELED")
    assert {record.checkpoint_id for record in of_type(Checkpoint, found)} >= {3, 6, 9, 12}
    assert all(record.subtask_sync_ms for record in of_type(VertexCheckpoint, found))
    assert found.skips == ()


def test_what_an_archive_tells_was_observed_at_the_end_of_its_job(tmp_path):
    put(tmp_path, JOB, archive())
    assert {observed.observed_at for observed in read(tmp_path).observed} == {
        datetime(2026, 11, 21, 4, 13, 34, tzinfo=UTC)
    }
    assert {observed.source for observed in read(tmp_path).observed} == {"history"}


def test_an_archive_is_read_once(tmp_path):
    put(tmp_path, JOB, archive())
    first = read(tmp_path)
    assert read(tmp_path, json.loads(json.dumps(first.cursor))).observed == ()


def test_a_half_written_archive_is_skipped_and_read_when_it_is_whole(tmp_path):
    content = archive()
    path = put(tmp_path, JOB, content[: len(content) // 2])
    torn = read(tmp_path)
    assert [skip.reason for skip in torn.skips] == ["unreadable_file"]
    assert "still be writing" in torn.skips[0].detail
    assert read(tmp_path, torn.cursor).skips == ()
    path.write_bytes(content)
    assert len(of_type(Job, read(tmp_path, torn.cursor))) == 1


def test_one_bad_archive_does_not_stop_the_others(tmp_path):
    put(tmp_path, "a" * 32, b"\x00junk")
    put(tmp_path, "b" * 32, b'{"archive": {"no": "list"}}')
    put(tmp_path, "c" * 32, b'{"history": []}')
    put(tmp_path, JOB, archive())
    found = read(tmp_path)
    assert len(of_type(Job, found)) == 1
    assert [skip.subject.rsplit("/", 1)[1] for skip in found.skips] == [
        "a" * 32,
        "b" * 32,
        "c" * 32,
    ]


def test_a_bad_document_costs_that_document_alone(tmp_path):
    content = json.loads(archive())
    bad = [
        {"path": f"/jobs/{JOB}/exceptions", "json": "half"},
        {"path": f"/jobs/{JOB}/plan", "json": 7},
        {"json": "{}"},
        None,
    ]
    content["archive"] += bad
    put(tmp_path, JOB, json.dumps(content).encode())
    found = read(tmp_path)
    assert len(of_type(Job, found)) == 1
    assert len(found.skips) == 4


def test_an_archive_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_ARCHIVE_BYTES", 1_000)
    put(tmp_path, JOB, archive())
    found = read(tmp_path)
    assert found.observed == ()
    assert [skip.reason for skip in found.skips] == ["too_large"]


def test_many_archives_are_read_over_several_cycles(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_FILES_PER_CYCLE", 2)
    for number in range(5):
        put(tmp_path, f"{number:032x}", archive(**{"/jobs/overview": {"jobs": []}}))
    cursor, cycles, behind = None, 0, True
    while behind:
        found = read(tmp_path, cursor)
        cursor, behind, cycles = found.cursor, found.behind, cycles + 1
    assert cycles == 3
    assert len(cursor["files"]) == 5


def test_the_cursor_forgets_archives_that_were_removed(tmp_path):
    path = put(tmp_path, JOB, archive())
    cursor = read(tmp_path).cursor
    path.unlink()
    assert read(tmp_path, cursor).cursor == {"files": {}}


@pytest.mark.parametrize("directory", ["nowhere", "s4://bucket/archive"])
def test_a_directory_that_cannot_be_listed_is_told_and_keeps_the_cursor(tmp_path, directory):
    cursor = {"files": {JOB: "1|2"}}
    found = read(directory if "://" in directory else tmp_path / directory, cursor)
    assert found.cursor == cursor
    assert [skip.reason for skip in found.skips] == ["unreadable_file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_archive_that_may_not_be_read_is_told(tmp_path):
    put(tmp_path, JOB, archive()).chmod(0)
    assert [skip.reason for skip in read(tmp_path).skips] == ["unreadable_file"]


@pytest.mark.parametrize("cursor", [None, {}, {"files": []}, {"other": 1}])
def test_a_cursor_of_another_shape_means_reading_all_again(tmp_path, cursor):
    put(tmp_path, JOB, archive())
    assert len(of_type(Job, read(tmp_path, cursor))) == 1


def test_a_job_that_only_the_overview_tells_of_is_not_lost():
    overview = {
        "jobs": [
            {
                "jid": JOB,
                "name": "gone",
                "state": "FAILED",
                "start-time": 1,
                "end-time": 1795234414000,
            }
        ]
    }
    content = {"archive": [{"path": "/jobs/overview", "json": json.dumps(overview)}]}
    (reading,), skips = job_readings(json.dumps(content).encode(), NOW)
    assert reading.overview.body["name"] == "gone"
    assert skips == []


def test_archives_on_object_storage_are_read_the_same(tmp_path):
    """fsspec's in-memory storage stands for any that is reached by URI."""
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/archives/{JOB}", archive())
    found = read_archives("memory://archives", "c", None, NOW)
    memory.rm("/archives", recursive=True)
    assert len(of_type(Job, found)) == 1
