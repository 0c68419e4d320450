"""What becomes part of addresses, paths and keys is checked where it is read: live, recorded and
archived alike.
"""

import copy
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.flink_ids import is_flink_id, is_taskmanager_id
from ingest.flink_rest.limits import RequestLimits
from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from ingest.records import Checkpoint, Observed
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource, LogSource
from tests.ingest.flink_rest.serving import Answer, Reply, recorded, told
from tests.ingest.recorded import RECORDINGS, answers
from tests.ingest.test_shard_collector import rows, serving

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
E = "1.20.5/E"
JOB = "26eb676de8b3e133f9078fabe3704eb6"
HOSTILE = [
    "../../etc",
    "",
    "A" * 32,
    JOB.upper(),
    f"{JOB}\n",
    f"{JOB}0",
    "0" * 31,
    "\x00" * 32,
    "\ud800" * 32,
    "x" * 1_000_000,
]
LARGEST = 2**63


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def listed(*more: dict[str, Any]) -> dict[str, Any]:
    overview = next(
        answer.body
        for answer in answers(E)
        if answer.path == "/jobs/overview" and answer.body["jobs"]
    )
    return {"jobs": [*more, *copy.deepcopy(overview["jobs"])]}


def entry(job_id: Any, **fields: Any) -> dict[str, Any]:
    return {**listed()["jobs"][0], "jid": job_id, **fields}


def collected(lake: Lake, answer: Answer, **source: Any) -> Any:
    with serving(answer) as (server,):
        cluster = ClusterSource("c", server.url, request_timeout_s=5, **source)
        (outcome,) = collect_shard(
            [cluster], {}, lake, at=lambda: AT, limits=RequestLimits(cycle_timeout_s=30)
        )
    return outcome


def test_only_what_flink_could_have_given_out_is_an_id() -> None:
    assert is_flink_id(JOB)
    assert not any(map(is_flink_id, [*HOSTILE, None, 3, [JOB]]))


@pytest.mark.parametrize(
    "name",
    [
        "container_e17_1700000000000_0001_01_000002",
        "10.0.0.1:45381-a1b2c3",
        "[::1]:4711-0a",
        "flink-tm-1",
        "tm 1 (rack 2)",
        "équipe-4",
        "a" * 300,
    ],
)
def test_names_that_operators_give_their_taskmanagers_are_taken(name: str) -> None:
    assert is_taskmanager_id(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc",
        "a/b",
        "a\\b",
        "a\nb",
        "\x00",
        "\ud800",
        "\u202etxt",
        "a" * 301,
        None,
        7,
    ],
)
def test_names_that_would_lead_elsewhere_are_not(name: Any) -> None:
    assert not is_taskmanager_id(name)


def test_a_live_job_of_a_hostile_id_is_skipped_and_the_others_are_read(lake: Lake) -> None:
    overview = told(listed(*(entry(job_id) for job_id in HOSTILE)))
    outcome = collected(lake, recorded(E, **{"/jobs/overview": overview}))
    assert outcome.reachable
    assert {
        row["job_id"]
        for table in ("jobs", "checkpoints", "vertex_metrics", "exceptions")
        for row in rows(lake, table)
    } == {JOB}
    details = [
        row["detail"]
        for row in rows(lake, "skips")
        if row["subject"].startswith("/jobs/overview#jobs[")
    ]
    assert len(details) == len(HOSTILE)
    assert all(
        ("jid" in detail and "32 hex" in detail) or "expected a text" in detail
        for detail in details
    )


def test_a_recorded_job_of_a_hostile_id_is_skipped_and_the_others_are_imported(
    tmp_path: Path, lake: Lake
) -> None:
    lines = (RECORDINGS / E / "rest.jsonl").read_text().splitlines()
    (tmp_path / "rest.jsonl").write_text(
        "\n".join(
            line.replace('"jobs":[{', '"jobs":[{"jid":"../../etc","state":"RUNNING"},{')
            for line in lines
        )
    )
    summary = import_recording(tmp_path, "c", lake)
    assert summary.jobs == {JOB}
    assert {row["job_id"] for row in rows(lake, "jobs")} == {JOB}
    assert any("32 hex digits" in skip.detail for skip in summary.skips)


def test_a_history_server_cannot_slip_in_a_hostile_id(lake: Lake) -> None:
    def answer(path: str, headers: dict[str, str]) -> Reply:
        known = recorded(E)
        return (
            told(listed(entry("../../etc", state="FINISHED")))
            if path == "/jobs/overview"
            else known(path, headers)
        )

    with serving(answer) as (server,):
        (outcome,) = collect_shard(
            [ClusterSource("c", history_url=server.url)], {}, lake, at=lambda: AT
        )
    assert outcome.reachable
    assert any("32 hex digits" in row["detail"] for row in rows(lake, "skips"))
    assert not any(row["job_id"] != JOB for row in rows(lake, "jobs"))


def test_vertices_and_taskmanagers_of_hostile_ids_cost_what_names_them(lake: Lake) -> None:
    known = recorded(E)

    def answer(path: str, headers: dict[str, str]) -> Reply:
        reply = known(path, headers)
        if path == f"/jobs/{JOB}":
            body = json.loads(reply.body)
            body["vertices"][0]["id"] = "../../v"
            return told(body)
        if path == "/taskmanagers":
            body = json.loads(reply.body)
            return told(
                {
                    "taskmanagers": [
                        {**body["taskmanagers"][0], "id": "../../tm"},
                        *body["taskmanagers"],
                    ]
                }
            )
        return reply

    collected(lake, answer)
    honest = {row["taskmanager_id"] for row in rows(lake, "taskmanagers")}
    assert honest
    assert "../../tm" not in honest
    assert all(is_flink_id(row["vertex_id"]) for row in rows(lake, "vertex_metrics"))
    told_of = {row["subject"] for row in rows(lake, "skips")}
    assert {f"/jobs/{JOB}", "/taskmanagers#taskmanagers[0]"} <= told_of


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a\x00b\ud800" + "n" * 1_000_000},
        {"state": "\ud800\x00" * 1_000_000},
        {"state": [[]] * 1000},
        {"start-time": LARGEST - 1},
        {"start-time": 253_402_300_799_999},
        {"start-time": -1},
        {"start-time": 1.5e300},
        {"last-modification": 10**400},
        {"end-time": "9999-12-31"},
        {"duration": -1},
    ],
    ids=lambda fields: f"{next(iter(fields))} {str(next(iter(fields.values())))[:12]!a}",
)
def test_fields_that_no_store_could_hold_cost_at_most_their_job(
    lake: Lake, fields: dict[str, Any]
) -> None:
    other = "0" * 32
    outcome = collected(
        lake, recorded(E, **{"/jobs/overview": told(listed(entry(other, **fields)))})
    )
    assert JOB in {row["job_id"] for row in rows(lake, "jobs")}
    text = json.dumps(outcome.cursor)
    assert "\\u0000" not in text
    assert "\\ud800" not in text
    assert len(text) < 200_000


@pytest.mark.parametrize("version", ["1.20\x00", "1.\ud800", "1" * 1_000_000, 7, None])
def test_a_version_of_any_kind_leaves_a_cursor_that_every_database_holds(
    lake: Lake, version: Any
) -> None:
    outcome = collected(
        lake,
        recorded(
            E,
            **{
                "/overview": told({"flink-version": version, "taskmanagers": 1}),
                "/jobs/overview": told(listed()),
            },
        ),
    )
    assert "\x00" not in (outcome.flink_version or "")
    (outcome.flink_version or "").encode()
    assert len(outcome.flink_version or "") <= 60


@pytest.mark.parametrize("parallelism", [10**18, 2**31, -1, 0, 1e9, "4", None])
def test_a_parallelism_beyond_flinks_largest_asks_for_nothing(lake: Lake, parallelism: Any) -> None:
    known = recorded(E)

    def answer(path: str, headers: dict[str, str]) -> Reply:
        reply = known(path, headers)
        if path != f"/jobs/{JOB}":
            return reply
        body = json.loads(reply.body)
        for vertex in body["vertices"]:
            vertex["parallelism"] = parallelism
        return told(body)

    assert collected(lake, answer).reachable


def test_an_answer_of_one_line_does_not_make_lists_of_32768(lake: Lake) -> None:
    known = recorded(E)
    short = told(
        {
            "id": 1,
            "status": "completed",
            "num_subtasks": 32_768,
            "subtasks": [{"index": 0, "status": "pending_or_failed"}],
        }
    )
    collected(
        lake,
        lambda path, headers: (
            short if "/subtasks/" in path and "/checkpoints/" in path else known(path, headers)
        ),
    )
    assert all(len(row["subtask_sync_ms"] or ()) < 100 for row in rows(lake, "vertex_checkpoints"))


def test_a_log_whose_name_is_not_utf_8_is_left_out_and_said(tmp_path: Path, lake: Lake) -> None:
    line = (
        "2026-11-21 04:00:00,000 INFO  org.apache.flink.A [] - Job x ("
        + JOB
        + ") switched from state CREATED to RUNNING.\n"
    )
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "jm.log").write_text(line)
    # no Path can say such a name
    with open(os.fsencode(str(logs)) + b"/bad\xff.log", "w") as out:  # noqa: PTH123
        out.write(line)
    source = ClusterSource("c", logs=LogSource((f"{logs}/*.log",)))
    (first,) = collect_shard([source], {}, lake, at=lambda: AT)
    (again,) = collect_shard([source], {"c": first.cursor}, lake, at=lambda: AT)
    json.dumps(again.cursor, ensure_ascii=False).encode()
    assert any("UTF-8" in row["detail"] for row in rows(lake, "skips"))
    assert all(row["file"].endswith("jm.log") for row in rows(lake, "log_records"))


def test_the_same_job_twice_in_one_answer_is_one_job(lake: Lake) -> None:
    outcome = collected(
        lake, recorded(E, **{"/jobs/overview": told(listed(*listed()["jobs"], *listed()["jobs"]))})
    )
    assert outcome.jobs_seen == 1
    assert len(rows(lake, "jobs")) == 1


@pytest.mark.long
def test_times_spread_over_centuries_do_not_make_a_folder_for_each_day(lake: Lake) -> None:
    old = tuple(
        Checkpoint(JOB, number, AT - timedelta(days=20_000 - number), "COMPLETED")
        for number in range(1, 4_000)
    )
    lake.append([Observed("c", AT, "rest", (*old, Checkpoint(JOB, 4_000, AT, "COMPLETED")))])
    lake.append(
        [
            Observed(
                "c",
                AT,
                "rest",
                tuple(
                    Checkpoint(JOB, 5_000 + day, AT - timedelta(days=day), "COMPLETED")
                    for day in range(400)
                ),
            )
        ]
    )
    found = {row["checkpoint_id"] for row in rows(lake, "checkpoints")}
    assert {4_000, *range(5_000, 5_400)} <= found
    assert len(list((Path(lake.root) / "checkpoints").glob("date=*"))) <= 1_400
