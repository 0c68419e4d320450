"""Importing: what a damaged recording costs, and that repeating it changes nothing."""

import gzip
import json
import shutil
from collections import Counter

import pyarrow.parquet as pq
import pytest

from ingest.__main__ import main
from ingest.errors import Refused
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from ingest.recordings.importer import import_recording
from ingest.recordings.recording import Recording
from ingest.recordings.rest_file import read_lines
from tests.ingest.recorded import RECORDINGS

E = RECORDINGS / "1.20.5" / "E"


def lines():
    return (E / "rest.jsonl").read_bytes().splitlines()


def recording(tmp_path, content):
    (tmp_path / "rest.jsonl").write_bytes(content)
    return tmp_path


def found_in(directory):
    return [
        record
        for readings, _ in Recording(directory, "c").read()
        for reading in readings
        for record in reading.records
    ]


def skips_in(directory):
    return [record for record in found_in(directory) if type(record).__name__ == "Skip"]


def checkpoints(found):
    return [record for record in found if type(record).__name__ == "Checkpoint"]


def identities(lake, table):
    names = list(TABLES[table].identity)
    rows = [
        row
        for file in lake.files(table)
        for row in pq.read_table(file.uri.removeprefix("file://")).to_pylist()
    ]
    return Counter(str(tuple(row.get(name) for name in names)) for row in rows)


def test_importing_twice_brings_no_new_identity(tmp_path):
    lake = Lake(str(tmp_path / "lake"))
    summary = import_recording(E, "c", lake)
    once = {table: identities(lake, table) for table in summary.records}
    import_recording(E, "c", lake)
    for table, rows in once.items():
        again = identities(lake, table)
        assert set(again) == set(rows)
        assert sum(again.values()) == 2 * sum(rows.values()) == 2 * summary.records[table]


def test_the_summary_counts_what_the_lake_got(tmp_path):
    said = []
    summary = import_recording(E, "c", Lake(str(tmp_path)), progress=said.append)
    assert summary.records["checkpoints"] == 127
    assert summary.jobs == {"26eb676de8b3e133f9078fabe3704eb6"}
    assert (summary.flink_version, summary.skipped) == ("1.20.5", Counter())
    assert any("committed" in line for line in said)


def test_a_compressed_recording_reads_the_same(tmp_path):
    (tmp_path / "rest.jsonl.gz").write_bytes(gzip.compress((E / "rest.jsonl").read_bytes()))
    plain = tmp_path / "plain"
    plain.mkdir()
    shutil.copy(E / "rest.jsonl", plain)
    assert found_in(tmp_path) == found_in(plain)


def test_a_torn_compressed_file_gives_what_was_before_the_tear(tmp_path):
    packed = gzip.compress((E / "rest.jsonl").read_bytes())
    (tmp_path / "rest.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    found = found_in(tmp_path)
    assert len(found) > 50
    assert [skip.reason for skip in skips_in(tmp_path)] == ["unreadable_file"]


@pytest.mark.parametrize(
    ("junk", "reason"),
    [
        (b'{"ts": 1, "path": "/jobs', "bad_json"),
        (b"\x00\xff\xfe\x80 binary", "bad_json"),
        (b"[1, 2]", "bad_json"),
        (b'{"path": "/jobs/overview", "status": 200}', "bad_json"),
        (b'{"ts": "yesterday", "path": "/overview", "status": 200}', "bad_json"),
        (b'{"ts": 1e300, "path": "/overview", "status": 200}', "bad_json"),
        (b"[" * 200_000, "bad_json"),
        (
            b'{"ts": 1795234333, "path": "/jobs/overview", "status": 500, "body": {"errors": '
            b'["broken"]}}',
            "http_error",
        ),
        (
            b'{"ts": 1795234333, "path": "/jobs/overview", "status": 0, "body": "URLError(timed '
            b'out)"}',
            "timeout",
        ),
        (
            b'{"ts": 1795234333, "path": "/jobs/overview", "status": 0, "body": "refused"}',
            "unreachable",
        ),
        (
            b'{"ts": 1795234333, "path": "/jobs/overview", "status": 200, "body": "{\\"jobs\\": '
            b'[{\\"ji"}',
            "bad_json",
        ),
        (
            b'{"ts": 1795234333, "path": "/jobs/overview", "status": 200, "body": {"jobs": {}}}',
            "bad_payload",
        ),
    ],
)
def test_a_bad_line_costs_one_skip_and_nothing_else(tmp_path, junk, reason):
    good = lines()
    whole = checkpoints(found_in(recording(tmp_path, b"\n".join(good))))
    found = found_in(recording(tmp_path, b"\n".join([*good[:20], junk, *good[20:]])))
    skips = [record for record in found if type(record).__name__ == "Skip"]
    assert [skip.reason for skip in skips] == [reason]
    assert checkpoints(found) == whole
    assert skips[0].detail


STARTS = RECORDINGS.parent / "starts"


def entries(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def recorded_again(tmp_path, entry, *after_s):
    """One entry, as it would be recorded once more at each time."""
    return recording(
        tmp_path,
        b"\n".join(json.dumps(entry | {"ts": entry["ts"] + late_s}).encode() for late_s in after_s),
    )


def unknown_backpressure():
    return next(
        one
        for one in entries(RECORDINGS / "1.20.5/B/rest.jsonl")
        if one["status"] == 500 and "/backpressure" in one["path"]
    )


def unknown_checkpoints(version="2.3.0"):
    return next(one for one in entries(STARTS / f"{version}.jsonl") if one["status"] == 500)


@pytest.mark.parametrize("start", sorted(STARTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_flink_could_not_tell_of_a_job_that_it_initialized_is_no_skip(tmp_path, start):
    found = found_in(recording(tmp_path, start.read_bytes()))
    assert [record for record in found if type(record).__name__ == "Skip"] == []
    assert {record.state for record in found if type(record).__name__ == "Job"} == {
        "INITIALIZING",
        "RUNNING",
    }


@pytest.mark.parametrize("name", ["B", "C2", "G", "H", "I", "K"])
def test_back_pressure_before_there_are_metrics_of_subtasks_is_no_skip(name):
    assert [
        skip
        for skip in skips_in(RECORDINGS / "1.20.5" / name)
        if skip.subject.endswith(("/backpressure", "/checkpoints"))
    ] == []


@pytest.mark.parametrize(
    "entry", [unknown_backpressure(), unknown_checkpoints()], ids=["backpressure", "checkpoints"]
)
def test_what_flink_cannot_tell_yet_is_no_skip(tmp_path, entry):
    assert skips_in(recorded_again(tmp_path, entry, 0, 60, 119, 121)) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"status": 503},
        {
            "body": {
                "errors": [
                    "Internal server error.",
                    "java.util.concurrent.TimeoutException: Invocation timed out.",
                ]
            }
        },
        {"body": {"errors": ["Internal server error."], "reason": ["initializing"]}},
        {"body": "initializing"},
    ],
)
def test_any_other_failure_is_a_skip_at_once(tmp_path, changed):
    assert [
        skip.reason
        for skip in skips_in(recorded_again(tmp_path, unknown_checkpoints() | changed, 0))
    ] == ["http_error"]


def test_a_line_beyond_the_limit_is_skipped_in_bounded_memory(tmp_path):
    path = tmp_path / "rest.jsonl"
    path.write_bytes(b"first\n" + b"x" * 10_000_000 + b"\nlast\n")
    found = list(read_lines(path, max_line_bytes=1_000))
    assert [(line.number, line.content) for line in found] == [
        (1, b"first"),
        (2, None),
        (3, b"last"),
    ]
    assert found[1].size_bytes == 10_000_001


def test_an_answer_of_100_mb_costs_one_skip(tmp_path):
    line = (
        b'{"ts": 1795234333, "path": "/jobs/overview", "status": 200, "body": "'
        + b"x" * 100_000_000
        + b'"}'
    )
    (skip,) = found_in(recording(tmp_path, line))
    assert (skip.reason, skip.subject) == ("too_large", "rest.jsonl:1")


def test_a_log_that_was_rotated_and_packed_meanwhile_brings_no_new_identity(tmp_path):
    lake, logs = Lake(str(tmp_path / "lake")), tmp_path / "case" / "logs"
    shutil.copytree(E / "logs", logs)
    import_recording(tmp_path / "case", "c", lake)
    once = set(identities(lake, "log_records"))
    for path in list(logs.iterdir()):
        (logs / f"{path.name}.3.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    import_recording(tmp_path / "case", "c", lake)
    assert once == set(identities(lake, "log_records"))


def test_logs_of_any_name_are_read_but_not_what_processes_or_rocksdb_printed(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(E / "logs" / "flink-standalonesession-0-flink-jm.log", logs / "jobmanager.txt")
    for name in (
        "jobmanager.out",
        ".hidden",
        "tmp_job_x_db_LOG",
        "tmp_job_x_db_LOG.old.1795234333",
    ):
        (logs / name).write_text("Starting up\n")
    found = found_in(tmp_path)
    assert {type(record).__name__ for record in found} == {"LogRecord"}


def test_a_file_of_junk_is_told_of_in_a_bounded_number_of_skips(tmp_path):
    skips = skips_in(recording(tmp_path, b"junk\n" * 5_000))
    assert len(skips) == 101
    assert "4900 more lines" in skips[-1].detail


def test_paths_that_weir_does_not_read_are_no_skips(tmp_path):
    line = json.dumps(
        {"ts": 1795234333, "path": "/jars/upload", "status": 404, "body": "no"}
    ).encode()
    assert found_in(recording(tmp_path, line)) == []


def test_a_job_whose_details_are_gone_is_still_there(tmp_path):
    missing = [json.loads(line) for line in lines()]
    for entry in missing:
        if entry["path"].startswith("/jobs/2"):
            entry["status"], entry["body"] = (
                404,
                {"errors": ["org.apache.flink.runtime.rest.NotFoundException: Job not found"]},
            )
    found = found_in(
        recording(tmp_path, b"\n".join(json.dumps(entry).encode() for entry in missing))
    )
    assert {record.name for record in found if type(record).__name__ == "Job"} == {"lab-E-decline"}
    assert all(
        "Job not found" in record.detail for record in found if type(record).__name__ == "Skip"
    )


def test_recordings_read_in_pieces_tell_of_the_same_checkpoints(tmp_path):
    """Overlapping halves, newest first: every row of the whole is among those of the halves."""
    good = lines()
    lake, halves = Lake(str(tmp_path / "lake")), Lake(str(tmp_path / "halves"))
    (tmp_path / "a").mkdir()
    import_recording(recording(tmp_path / "a", b"\n".join(good)), "c", lake)
    for number, part in enumerate((good[300:], good[:500])):
        (tmp_path / f"h{number}").mkdir()
        import_recording(recording(tmp_path / f"h{number}", b"\n".join(part)), "c", halves)
    assert set(identities(lake, "checkpoints")) == set(identities(halves, "checkpoints"))


def test_a_folder_that_is_no_recording_is_refused(tmp_path):
    with pytest.raises(Refused, match=r"neither rest.jsonl .* nor logs"):
        import_recording(tmp_path, "c", Lake(str(tmp_path / "lake")))


def test_nonsense_about_the_logs_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(Refused, match="time zone"):
        import_recording(E, "c", Lake(str(tmp_path / "lake")), log_time_zone="Mars/Base")
    assert not (tmp_path / "lake").exists()


def test_the_command_prints_a_summary_and_says_whether_something_was_skipped(tmp_path, capsys):
    arguments = ["--cluster", "c", "--lake", str(tmp_path / "lake")]
    assert main(["import", str(E), *arguments]) == 0
    assert "127 checkpoints" in capsys.readouterr().out
    assert main(["import", str(recording(tmp_path, b"junk\n")), *arguments]) == 1
    assert "skipped: 1 bad_json" in capsys.readouterr().out
    assert main(["import", str(tmp_path / "nowhere"), *arguments]) == 2
    assert "is no recording" in capsys.readouterr().err
