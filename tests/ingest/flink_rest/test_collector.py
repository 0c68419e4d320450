"""Whole cycles against a server that answers as recorded Flinks did, and as no Flink should."""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ingest.flink_rest.client import Gate
from ingest.flink_rest.collector import Collected, collect_cluster
from ingest.flink_rest.limits import RequestLimits
from ingest.records import (
    Checkpoint,
    Job,
    JobException,
    Skip,
    TaskManager,
    VertexCheckpoint,
    VertexMetrics,
)
from ingest.sources import Auth, ClusterSource
from tests.ingest.flink_rest.serving import Answer, Reply, Server, recorded, told
from tests.replayed import Replay

START = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
Kind = TypeVar("Kind")


def cycle(
    answer: Answer,
    cursor: dict[str, Any] | None = None,
    *,
    after_s: float = 0,
    limits: RequestLimits | None = None,
    **fields: Any,
) -> tuple[Collected, Server]:
    """One cycle, ``after_s`` seconds after the first one."""

    async def conversation() -> tuple[Collected, Server]:
        async with Server(answer) as server:
            source = ClusterSource("lab", server.url, **{"request_timeout_s": 2, **fields})
            at = START + timedelta(seconds=after_s)
            return await collect_cluster(
                source, cursor or {}, lambda: at, limits=limits, gate=Gate(0.01)
            ), server

    return asyncio.run(conversation())


def of_kind(collected: Collected, kind: type[Kind]) -> list[Kind]:
    return [
        record for part in collected.observed for record in part.records if isinstance(record, kind)
    ]


def reasons(skips: Iterable[Skip]) -> set[str]:
    return {skip.reason for skip in skips}


def changed(answer: Answer, endpoint: str, change: Any) -> Answer:
    """``answer`` with the decoded body of ``endpoint`` passed through ``change``."""

    def changing(path: str, headers: dict[str, str]) -> Reply:
        reply = answer(path, headers)
        if path.partition("?")[0].endswith(endpoint):
            return told(change(json.loads(reply.body)), reply.status)
        return reply

    return changing


def test_a_first_cycle_reads_a_job_whole() -> None:
    found, server = cycle(recorded("1.20.5/B"))
    (job,) = of_kind(found, Job)
    assert (
        found.reachable
        and found.flink_version == "1.20.5"
        and found.jobs_seen == 1
        and not found.skips
    )
    assert job.state == "RUNNING" and len(job.vertices or ()) == 4 and len(job.edges or ()) == 3
    assert (
        job.checkpoint_interval_ms and job.state_backend and job.configuration and job.restarts == 0
    )
    samples = of_kind(found, VertexMetrics)
    assert len(samples) == 4
    assert all(
        None not in (s.in_pool_usage, s.busy_ms_per_s, s.backpressured_ratio, s.host, s.attempt)
        for s in samples
    )
    assert len(of_kind(found, TaskManager)) == 3 and all(
        tm.heap_used_bytes for tm in of_kind(found, TaskManager)
    )
    assert server.most_at_once <= 2


def test_metrics_are_those_that_flink_reported() -> None:
    found, _ = cycle(recorded("1.20.5/B"))
    names = {
        vertex.vertex_id: vertex.name
        for job in of_kind(found, Job)
        for vertex in job.vertices or ()
    }
    sample = next(s for s in of_kind(found, VertexMetrics) if names[s.vertex_id] == "slow-enrich")
    assert min(value or 0 for value in sample.busy_ms_per_s or ()) > 900
    assert min(value or 0 for value in sample.in_pool_usage or ()) > 0.6


def test_1_12_reports_less_and_the_rest_stays_unknown() -> None:
    found, _ = cycle(recorded("1.12.5/G"))
    samples = of_kind(found, VertexMetrics)
    assert not found.skips and {s.busy_ms_per_s for s in samples} == {None}
    assert any(s.backpressured_ratio for s in samples) and all(s.in_pool_usage for s in samples)
    assert {checkpoint.checkpointed_bytes for checkpoint in of_kind(found, Checkpoint)} == {None}


def test_a_second_cycle_asks_nothing_that_is_final() -> None:
    first, _ = cycle(recorded("1.20.5/G"))
    second, server = cycle(recorded("1.20.5/G"), first.cursor, after_s=30)
    assert of_kind(first, Checkpoint) and of_kind(first, VertexCheckpoint)
    assert not of_kind(second, Checkpoint) and not of_kind(second, VertexCheckpoint)
    assert not [path for path in server.asked if "/details/" in path]
    assert [path for path in server.asked if path.endswith("/checkpoints")]


def test_every_checkpoint_of_a_recording_is_seen_once_per_outcome() -> None:
    replay = Replay("1.20.5/F")
    cursor: dict[str, Any] = {}
    seen: list[tuple[int, str, bool | None]] = []
    for step in range(int(replay.last_at - replay.first_at) // 10):
        found, _ = cycle(
            recorded("1.20.5/F", replay.first_at + 10 * step), cursor, after_s=10 * step
        )
        cursor = found.cursor
        seen += [
            (entry.checkpoint_id, entry.status, entry.discarded)
            for entry in of_kind(found, Checkpoint)
        ]
    final = [entry for entry in seen if entry[1] != "IN_PROGRESS"]
    assert len(final) == len(set(final)) > 10
    assert {status for _, status, _ in final} == {"COMPLETED", "FAILED"}


def test_failed_checkpoints_tell_who_did_not_acknowledge() -> None:
    replay = Replay("1.20.5/F")
    found, _ = cycle(recorded("1.20.5/F", replay.last_at))
    failed = {
        entry.checkpoint_id for entry in of_kind(found, Checkpoint) if entry.status == "FAILED"
    }
    parts = [
        part
        for part in of_kind(found, VertexCheckpoint)
        if part.checkpoint_id in failed and part.subtask_ack_time
    ]
    assert failed and any(None in (part.subtask_ack_time or ()) for part in parts)


def test_details_that_flink_took_from_another_job_are_not_believed_nor_asked_for_again() -> None:
    """Flink keeps what left a job's history in one cache for all jobs, by the id of the checkpoint:
    82 of 415 such answers of a 2.0.1.
    """
    replay = Replay("1.20.5/E")
    answer = recorded("1.20.5/E", replay.last_at)
    right, _ = cycle(answer)
    wanted = next(one for one in of_kind(right, VertexCheckpoint))

    def of_another_job(body: Any) -> Any:
        return body | {"trigger_timestamp": body["trigger_timestamp"] + 2_000, "state_size": 1}

    mixed = changed(answer, f"/details/{wanted.checkpoint_id}", of_another_job)
    found, _ = cycle(mixed)
    same = [one for one in of_kind(right, Checkpoint) if one.checkpoint_id == wanted.checkpoint_id]
    told_now = [
        one for one in of_kind(found, Checkpoint) if one.checkpoint_id == wanted.checkpoint_id
    ]
    assert {one.trigger_time for one in told_now} == {one.trigger_time for one in same}
    assert 1 not in {one.state_bytes for one in told_now}
    assert not [
        one for one in of_kind(found, VertexCheckpoint) if one.checkpoint_id == wanted.checkpoint_id
    ]
    _, server = cycle(mixed, found.cursor, after_s=10)
    assert not [path for path in server.asked if f"/details/{wanted.checkpoint_id}" in path]


def test_a_job_that_ended_is_read_once() -> None:
    replay = Replay("1.20.5/J")
    answer = changed(recorded("1.20.5/J", replay.last_at), "/jobs/overview", _ended)
    first, _ = cycle(answer)
    second, server = cycle(answer, first.cursor, after_s=3600)
    assert of_kind(first, Job) and of_kind(first, JobException)
    assert first.jobs_seen == second.jobs_seen == 1 and not of_kind(second, Job)
    assert not [
        path for path in server.asked if path.startswith("/jobs/") and path != "/jobs/overview"
    ]


def _ended(body: Any) -> Any:
    return {"jobs": [{**job, "state": "CANCELED"} for job in body["jobs"]]}


def test_the_same_exceptions_are_kept_once() -> None:
    replay = Replay("1.20.5/J")
    first, _ = cycle(recorded("1.20.5/J", replay.last_at))
    second, _ = cycle(recorded("1.20.5/J", replay.last_at), first.cursor, after_s=30)
    assert of_kind(first, JobException) and not of_kind(second, JobException)


@pytest.mark.parametrize(
    ("broken", "reply", "reason"),
    [
        ("/exceptions", Reply(b'{"exceptionHistory": {"entr'), "bad_json"),
        ("/exceptions", told({"errors": ["Internal server error.", "x"]}, 500), "http_error"),
        ("/backpressure", Reply(b"[" * 200_000), "bad_json"),
        ("/checkpoints/config", told(["not", "an", "object"]), "bad_payload"),
    ],
)
def test_one_bad_answer_is_skipped_and_the_rest_goes_on(
    broken: str, reply: Reply, reason: str
) -> None:
    found, _ = cycle(recorded("1.20.5/B", **{broken: reply}))
    assert reason in reasons(found.skips)
    assert any(broken.strip("/") in skip.subject for skip in found.skips)
    assert of_kind(found, Job) and of_kind(found, Checkpoint) and of_kind(found, VertexMetrics)


def test_one_hanging_endpoint_costs_its_answer_only() -> None:
    found, _ = cycle(
        recorded("1.20.5/B", **{"/exceptions": Reply(hang=True)}), request_timeout_s=0.3
    )
    assert (
        "timeout" in reasons(found.skips) and of_kind(found, Job) and of_kind(found, VertexMetrics)
    )


def test_a_jobmanager_that_hangs_is_cut_off_and_said_to_be_unreachable() -> None:
    found, _ = cycle(
        lambda path, headers: Reply(hang=True),
        request_timeout_s=0.2,
        limits=RequestLimits(cycle_timeout_s=2),
    )
    assert not found.reachable and found.error and "\n" not in found.error
    assert "unreachable" in reasons(found.skips)


def test_a_cycle_is_cut_off_as_a_whole_and_keeps_what_it_has() -> None:
    slow = recorded("1.20.5/B")

    def answer(path: str, headers: dict[str, str]) -> Reply:
        if "/vertices/" in path:
            return Reply(hang=True)
        return slow(path, headers)

    found, _ = cycle(answer, request_timeout_s=5, limits=RequestLimits(cycle_timeout_s=0.5))
    assert found.reachable and "timeout" in reasons(found.skips)


def test_a_jobmanager_that_is_gone_is_one_sentence() -> None:
    source = ClusterSource("gone", "http://user:canary@127.0.0.1:9", request_timeout_s=1)
    found = asyncio.run(collect_cluster(source, {}, lambda: START, gate=Gate(0.01)))
    assert (
        not found.reachable
        and found.error == "http://127.0.0.1:9 cannot be reached (Connection refused)."
    )
    assert found.skips[0].subject == "http://127.0.0.1:9" and found.skips[0].reason == "unreachable"


def test_an_unknown_version_is_read_and_reported_once() -> None:
    answer = changed(
        recorded("1.20.5/B"), "/overview", lambda body: {**body, "flink-version": "3.1.0"}
    )
    first, _ = cycle(answer)
    second, _ = cycle(answer, first.cursor, after_s=30)
    assert reasons(first.skips) == {"unknown_version"} and of_kind(first, VertexMetrics)
    assert not second.skips


def test_metrics_that_come_empty_the_first_time_are_normal() -> None:
    answers = recorded("1.20.5/B")
    asked: set[str] = set()

    def lazy(path: str, headers: dict[str, str]) -> Reply:
        if "/vertices/" in path and "metrics?" in path and path not in asked:
            asked.add(path)
            return told([])
        return answers(path, headers)

    first, _ = cycle(lazy)
    second, _ = cycle(lazy, first.cursor, after_s=60)
    assert not first.skips and not any(
        sample.busy_ms_per_s for sample in of_kind(first, VertexMetrics)
    )
    assert not second.skips and all(
        sample.busy_ms_per_s for sample in of_kind(second, VertexMetrics)
    )


def test_metrics_that_stay_empty_are_unknown() -> None:
    found, _ = cycle(
        changed(recorded("1.20.5/B"), "/metrics", lambda body: []),
        limits=RequestLimits(requests_per_vertex=1),
    )
    assert not found.skips and {
        sample.busy_ms_per_s for sample in of_kind(found, VertexMetrics)
    } == {None}


def _not_measured() -> Reply:
    """As 1.20.5 answered for a source in its first seconds."""
    replay = Replay("1.20.5/B")
    return next(
        told(body, 500)
        for path, kept in replay.answers.items()
        if path.endswith("/backpressure")
        for _, status, body in kept
        if status == 500
    )


def _before_its_metrics_came(broken: Reply) -> Answer:
    source = "06fde38ae8925b8dddc6df94592dce84"
    return changed(
        recorded("1.20.5/B", **{f"{source}/backpressure": broken}),
        f"{source}/metrics",
        lambda body: [],
    )


def _each_minute(
    answer: Answer,
) -> tuple[list[tuple[int, str, str]], list[Skip], dict[str, Any] | None]:
    """Of an answer that stays the same for three: after how many seconds what was told, all of
    that, and where the next cycle goes on.
    """
    cursor, notified_at, skips = None, [], list[Skip]()
    for after_s in (0, 60, 120, 180):
        found, _ = cycle(answer, cursor, after_s=after_s)
        cursor = found.cursor
        notified_at += [
            (after_s, skip.reason, skip.subject.rpartition("/")[2]) for skip in found.skips
        ]
        skips += found.skips
    return notified_at, skips, cursor


def test_backpressure_that_flink_cannot_tell_before_it_has_metrics_of_subtasks_is_not_known_yet() -> (
    None
):
    first, _ = cycle(_before_its_metrics_came(_not_measured()))
    assert not first.skips
    ratios = {
        sample.vertex_id: sample.backpressured_ratio for sample in of_kind(first, VertexMetrics)
    }
    assert len(ratios) == 4 and ratios["06fde38ae8925b8dddc6df94592dce84"] is None
    second, _ = cycle(recorded("1.20.5/B"), first.cursor, after_s=60)
    assert not second.skips


def test_backpressure_that_stays_unknown_for_minutes_is_told_until_it_is_known() -> None:
    answer = _before_its_metrics_came(_not_measured())
    notified_at, _, cursor = _each_minute(answer)
    assert notified_at == [(120, "http_error", "backpressure"), (180, "http_error", "backpressure")]
    known, _ = cycle(recorded("1.20.5/B"), cursor, after_s=240)
    again, _ = cycle(answer, known.cursor, after_s=300)
    assert not known.skips and not again.skips


def test_any_other_500_of_backpressure_is_told_at_once() -> None:
    other = told(
        {
            "errors": [
                "Internal server error.",
                (
                    "java.util.NoSuchElementException: at "
                    "x.JobVertexBackPressureHandler.handleRequest(Y)"
                ),
            ]
        },
        500,
    )
    found, _ = cycle(_before_its_metrics_came(other))
    assert reasons(found.skips) == {"http_error"}


@pytest.mark.parametrize(
    ("reply", "restored"),
    [
        (
            told({"errors": [f"Checkpointing is not enabled for this job ({'a' * 32})."]}, 404),
            0,
        ),
        (told({"errors": ["Checkpointing is not enabled for this job."]}), 0),
        (told({"errors": [f"Job {'a' * 32} not found"]}, 404), None),
        (told({"errors": ["Forbidden"]}, 403), None),
        (told({"errors": ["Internal server error."]}, 500), None),
    ],
    ids=["no checkpoints", "as archived", "gone", "forbidden", "error"],
)
def test_that_a_job_takes_no_checkpoints_is_known_where_flink_says_so_alone(
    reply: Reply, restored: int | None
) -> None:
    found, _ = cycle(recorded("1.20.5/B", **{"/checkpoints": reply}))
    (job,) = of_kind(found, Job)
    assert job.vertices and job.checkpoints_restored == restored
    assert job.checkpoints_total == restored and job.checkpointing_mode is None


STARTS = Path(__file__).parents[2] / "fixtures" / "starts"


def _recorded_start(version: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STARTS / f"{version}.jsonl").read_text().splitlines()]


def _initializing(version: str) -> Reply:
    """As that release answered for the checkpoints of a job in its first seconds."""
    return next(
        told(entry["body"], 500) for entry in _recorded_start(version) if entry["status"] == 500
    )


def _started(version: str, which: int) -> Answer:
    """What that release said of a job first (0), while it initialized it, or last (-1)."""
    said: dict[str, list[Reply]] = {}
    for entry in _recorded_start(version):
        said.setdefault(entry["path"], []).append(told(entry["body"], entry["status"]))
    return lambda path, headers: said.get(path, [told({"errors": ["Not found."]}, 404)])[which]


def _while_initializing(broken: Reply) -> Answer:
    answers = recorded("1.20.5/B")
    return lambda path, headers: broken if path.endswith("/checkpoints") else answers(path, headers)


@pytest.mark.parametrize("version", ["1.18.1", "1.19.3", "1.20.5", "2.3.0"])
def test_checkpoints_of_a_job_that_flink_still_initializes_are_not_known_yet(version: str) -> None:
    first, _ = cycle(_while_initializing(_initializing(version)))
    assert not first.skips and of_kind(first, Job) and not of_kind(first, Checkpoint)
    second, _ = cycle(recorded("1.20.5/B"), first.cursor, after_s=30)
    assert not second.skips and of_kind(second, Checkpoint)


@pytest.mark.parametrize("version", ["1.18.1", "1.19.3", "1.20.5", "2.3.0"])
def test_settings_of_a_job_are_read_once_it_is_initialized(version: str) -> None:
    first, _ = cycle(_started(version, 0))
    second, _ = cycle(_started(version, -1), first.cursor, after_s=30)
    told_by = [
        [(job.state, job.state_backend) for job in of_kind(found, Job)] for found in (first, second)
    ]
    assert told_by == [[("INITIALIZING", None)], [("RUNNING", "EmbeddedRocksDBStateBackend")]]


def test_a_job_that_is_initialized_for_minutes_is_told_until_it_is_done() -> None:
    answer = _while_initializing(_initializing("1.20.5"))
    notified_at, skips, cursor = _each_minute(answer)
    assert all("still initializing this job" in skip.detail for skip in skips)
    assert notified_at == [(120, "http_error", "checkpoints"), (180, "http_error", "checkpoints")]
    done, _ = cycle(recorded("1.20.5/B"), cursor, after_s=240)
    again, _ = cycle(answer, done.cursor, after_s=300)
    assert not done.skips and not again.skips


def test_a_job_whose_metrics_are_missing_right_after_it_was_initialized_is_not_told_of() -> None:
    first, _ = cycle(_while_initializing(_initializing("1.20.5")))
    second, _ = cycle(_while_initializing(_initializing("1.20.5")), first.cursor, after_s=90)
    third, _ = cycle(_before_its_metrics_came(_not_measured()), second.cursor, after_s=130)
    assert not second.skips and not third.skips


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            500,
            (
                "java.util.concurrent.TimeoutException: Invocation timed out.\n\tat "
                "x.Dispatcher.getJobMasterGateway(Dispatcher.java:1503)"
            ),
        ),
        (
            500,
            (
                "org.apache.flink.runtime.dispatcher.UnavailableDispatcherOperationException: "
                "shutting down"
            ),
        ),
        (
            400,
            (
                "org.apache.flink.runtime.dispatcher.UnavailableDispatcherOperationException\n\tat "
                "x.Dispatcher.getJobMasterGateway(Y)"
            ),
        ),
    ],
)
def test_any_other_error_of_checkpoints_is_told_at_once(status: int, said: str) -> None:
    found, _ = cycle(
        _while_initializing(told({"errors": ["Internal server error.", said]}, status))
    )
    assert [(skip.reason, skip.subject.rpartition("/")[2]) for skip in found.skips] == [
        ("http_error", "checkpoints")
    ]


def _large(parallelism: int) -> Answer:
    """The recorded job with one vertex of that parallelism; each metric's value is its subtask."""
    answers = recorded("1.20.5/B")

    def change(body: Any) -> Any:
        return {
            **body,
            "vertices": [{**vertex, "parallelism": parallelism} for vertex in body["vertices"][:1]],
        }

    def answer(path: str, headers: dict[str, str]) -> Reply:
        assert len(path) < 4000
        if path.endswith("/backpressure"):
            subtasks = [
                {"subtask": i, "ratio": 0.0, "busyRatio": 1.0 if i == 4321 else 0.1}
                for i in range(parallelism)
            ]
            return told({"status": "ok", "subtasks": subtasks})
        if "/vertices/" in path and "/metrics?get=" in path:
            names = path.partition("get=")[2].split(",")
            return told([{"id": name, "value": name.partition(".")[0]} for name in names])
        if re.search("/jobs/[0-9a-f]{32}$", path):
            return told(change(json.loads(answers(path, headers).body)))
        if re.search("/vertices/[0-9a-f]{32}$", path):
            subtasks = [
                {"subtask": i, "attempt": 0, "host": "h", "status": "RUNNING"}
                for i in range(parallelism)
            ]
            return told({"parallelism": parallelism, "subtasks": subtasks})
        return answers(path, headers)

    return answer


def test_parallelism_5000_is_sampled_within_bounds_and_said_so() -> None:
    answer = _large(5000)
    found, server = cycle(answer, limits=RequestLimits(requests_per_vertex=10))
    (sample,) = of_kind(found, VertexMetrics)
    known = [index for index, value in enumerate(sample.busy_ms_per_s or ()) if value is not None]
    assert sample.parallelism == 5000 and len(sample.backpressured_ratio or ()) == 5000
    assert 4321 in known and 50 < len(known) < 500
    assert "sampled" in reasons(found.skips)
    of_metrics = [path for path in server.asked if "vertices" in path and "metrics" in path]
    assert len([path for path in of_metrics if "get=" in path]) <= 10
    assert len(of_metrics) <= 11  # and one list of names


def test_the_next_cycle_samples_other_subtasks() -> None:
    answer = _large(5000)
    first, _ = cycle(answer, limits=RequestLimits(requests_per_vertex=10))
    second, _ = cycle(
        answer, first.cursor, after_s=30, limits=RequestLimits(requests_per_vertex=10)
    )
    known = [
        {
            index
            for index, value in enumerate(of_kind(found, VertexMetrics)[0].busy_ms_per_s or ())
            if value is not None
        }
        for found in (first, second)
    ]
    assert len(known[0] & known[1]) <= len(known[0]) * 0.6 and not second.skips


def test_a_budget_keeps_checkpoints_and_says_what_it_left_out() -> None:
    found, server = cycle(recorded("1.20.5/B"), limits=RequestLimits(requests=6))
    assert of_kind(found, Checkpoint) and len(server.asked) <= 9
    assert "over_budget" in reasons(found.skips)


def test_a_job_with_nonsense_ids_does_not_reach_a_path() -> None:
    listing = told(
        {"jobs": [{"jid": "../../etc/passwd", "name": "x", "state": "RUNNING"}, {"jid": 7}, None]}
    )
    found, server = cycle(lambda path, headers: listing if path == "/jobs/overview" else told({}))
    assert found.reachable and all("passwd" not in path for path in server.asked)


def test_one_job_that_breaks_the_reader_does_not_stop_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ingest.flink_rest import assembly

    answer = changed(
        recorded("1.20.5/B"),
        "/jobs/overview",
        lambda body: {"jobs": [{**body["jobs"][0], "jid": "f" * 32}, body["jobs"][0]]},
    )
    real = assembly.observe_job

    def breaks(reading: Any, *more: Any) -> Any:
        if reading.job_id == "f" * 32:
            raise ZeroDivisionError
        return real(reading, *more)

    monkeypatch.setattr(assembly, "observe_job", breaks)
    found, _ = cycle(answer)
    assert "error" in reasons(found.skips)
    assert {job.job_id: bool(job.vertices) for job in of_kind(found, Job)} == {
        "f" * 32: False,
        **dict.fromkeys(set(found.cursor["jobs"]) - {"f" * 32}, True),
    }
    assert not found.cursor["jobs"]["f" * 32].get("full_at")


def test_a_damaged_cursor_reads_everything_again() -> None:
    damaged: dict[str, Any] = {
        "jobs": {"a": 3, "b": {"checkpoints": [1, [2]], "vertices": []}},
        "taskmanagers": [],
        "static_at": "x",
    }
    found, _ = cycle(recorded("1.20.5/B"), damaged)
    assert of_kind(found, Checkpoint) and list(found.cursor["jobs"]) == [
        of_kind(found, Job)[0].job_id
    ]


LISTED = recorded("1.20.5/B")
LISTED_NO_MORE = changed(LISTED, "/jobs/overview", lambda body: {"jobs": []})
ELECTING = recorded(
    "1.20.5/B",
    **{
        "/jobs/overview": told(
            {"errors": ["Service temporarily unavailable due to an ongoing leader election."]}, 503
        )
    },
)
NOT_ALL_READABLE = changed(LISTED, "/jobs/overview", lambda body: {"jobs": [{"jid": "?"}]})


def _states(answers: Sequence[Answer]) -> list[list[tuple[str | None, datetime | None]]]:
    """State and end of each job that each cycle tells of; one every 30 s."""
    cursor: dict[str, Any] = {}
    states = []
    for number, answer in enumerate(answers):
        found, _ = cycle(answer, cursor, after_s=30 * number)
        cursor = json.loads(json.dumps(found.cursor))
        assert cursor == found.cursor
        states.append([(job.state, job.end_time) for job in of_kind(found, Job)])
    return states


RUNS = ("RUNNING", None)
AT_ONCE = ("NOT_LISTED", START)


def test_a_job_that_two_cycles_in_a_row_do_not_list_is_listed_no_more_once() -> None:
    found = _states([LISTED, LISTED, *3 * [LISTED_NO_MORE]])
    assert found == [[RUNS], [RUNS], [], [("NOT_LISTED", START + timedelta(seconds=30))], []]


@pytest.mark.parametrize("answer", [ELECTING, NOT_ALL_READABLE])
def test_a_cycle_in_which_the_jobs_were_not_listed_whole_says_of_none_that_it_is_missing(
    answer: Answer,
) -> None:
    assert _states([LISTED, answer, answer, answer, LISTED])[1:] == [[], [], [], [RUNS]]
    assert _states([LISTED, LISTED_NO_MORE, answer, answer, LISTED_NO_MORE]) == [
        [RUNS],
        [],
        [],
        [],
        [AT_ONCE],
    ]


def test_a_job_that_is_missing_once_is_no_news() -> None:
    found = _states([LISTED, LISTED_NO_MORE, LISTED, LISTED_NO_MORE, LISTED])
    assert found == [[RUNS], [], [RUNS], [], [RUNS]]


def test_a_job_that_comes_back_under_its_id_is_read_whole_again() -> None:
    found = _states([LISTED, LISTED_NO_MORE, LISTED_NO_MORE, LISTED])
    assert found == [[RUNS], [], [AT_ONCE], [RUNS]]


def test_a_job_that_was_seen_to_end_or_was_never_read_is_forgotten_at_once() -> None:
    ended = changed(LISTED, "/jobs/overview", _ended)
    first, _ = cycle(ended)
    second, _ = cycle(LISTED_NO_MORE, first.cursor, after_s=30)
    assert first.cursor["jobs"] and not second.cursor["jobs"]
    assert second.reachable and second.jobs_seen == 0
    assert [[state for state, _ in found] for found in _states([ended, *3 * [LISTED_NO_MORE]])] == [
        ["CANCELED"],
        [],
        [],
        [],
    ]
    unread, _ = cycle(LISTED, limits=RequestLimits(requests_per_job=0))
    assert not cycle(LISTED_NO_MORE, unread.cursor, after_s=30)[0].cursor["jobs"]


def test_a_wrong_password_is_unreachable_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    auth = Auth("basic", "canary-secret", "ops")

    def refuse(path: str, headers: dict[str, str]) -> Reply:
        return told({"errors": [f"bad {headers.get('Authorization')} canary-secret"]}, 401)

    found, server = cycle(refuse, auth=auth)
    sent = server.headers[0]["Authorization"].split(" ")[1]
    shown = repr(found) + caplog.text
    assert not found.reachable and "Check user, password, token or ticket" in (found.error or "")
    assert "canary-secret" not in shown and sent not in shown


def test_a_slow_jobmanager_gives_some_jobs_whole_and_the_others_next_time() -> None:
    base = recorded("1.20.5/B")
    names = [f"{number:032x}" for number in range(30)]

    def slow(path: str, headers: dict[str, str]) -> Reply:
        real = json.loads(base("/jobs/overview", headers).body)["jobs"][0]
        if path == "/jobs/overview":
            return told({"jobs": [{**real, "jid": name} for name in names]})
        reply = base(re.sub("^/jobs/[0-9a-f]{32}", f"/jobs/{real['jid']}", path), headers)
        return Reply(reply.body, reply.status, reply.headers, pause_s=0.01)

    first, _ = cycle(slow, limits=RequestLimits(cycle_timeout_s=1.5))
    second, _ = cycle(slow, first.cursor, after_s=10, limits=RequestLimits(cycle_timeout_s=1.5))
    read = [
        {job.job_id for job in of_kind(found, Job) if job.vertices} for found in (first, second)
    ]
    assert "timeout" in reasons(first.skips) and 0 < len(read[0]) < 30
    assert read[1] - read[0]
    assert {job.job_id for job in of_kind(first, Job)} == {*names}
