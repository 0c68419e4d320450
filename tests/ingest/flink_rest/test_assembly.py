"""Readings of whole jobs: what fits together, and what a bad part costs."""

import pytest

from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.flink_rest.assembly import observe_cluster, observe_job
from ingest.flink_rest.job_reader import listed_jobs
from ingest.records import Checkpoint, Job, VertexCheckpoint, VertexMetrics
from tests.ingest.recorded import AT, answers, reading, records


def of_type(kind, found):
    return [record for record in found if isinstance(record, kind)]


def with_body(answer, body):
    return Answer(answer.path, answer.at, body)


def sample(recording):
    return of_type(VertexMetrics, records(reading(recording))[0])


def test_a_job_is_told_with_plan_edges_settings_and_checkpointing():
    (job,) = of_type(Job, records(reading("1.20.5/E"))[0])
    assert [vertex.name for vertex in job.vertices][:2] == ["Source: clicks", "parse"]
    assert {edge.ship_strategy for edge in job.edges} == {"FORWARD", "HASH", "REBALANCE"}
    assert (job.parallelism, job.checkpoint_interval_ms) == (4, 3000)
    assert job.state_since[0].state == "INITIALIZING"
    assert job.end_time is None


def test_a_job_that_is_listed_but_cannot_be_asked_is_not_lost():
    overview = next(
        answer
        for answer in answers("1.20.5/E")
        if answer.path == "/jobs/overview" and answer.body["jobs"]
    )
    (listed,) = listed_jobs(overview)[0]
    (job,), skips = records(JobAnswers(listed.job_id, overview=listed.answer))
    assert (job.job_id, job.name, job.state) == (listed.job_id, "lab-E-decline", "RUNNING")
    assert job.vertices is None
    assert skips == ()


def test_a_bad_job_answer_falls_back_to_the_overview():
    overview = next(
        answer
        for answer in answers("1.20.5/E")
        if answer.path == "/jobs/overview" and answer.body["jobs"]
    )
    (listed,) = listed_jobs(overview)[0]
    found, skips = records(
        JobAnswers(
            listed.job_id,
            overview=listed.answer,
            job=Answer(f"/jobs/{listed.job_id}", AT, ["not", "a", "job"]),
        )
    )
    assert [record.state for record in of_type(Job, found)] == ["RUNNING"]
    assert skips[0].subject == f"/jobs/{listed.job_id}"
    assert "expected an object" in skips[0].detail


def test_a_job_that_the_overview_knows_as_ended_has_ended_though_its_cached_answer_still_runs():
    filled = reading("1.20.5/E")
    assert filled.job.body["state"] == "RUNNING"
    entry = {
        "jid": filled.job_id,
        "name": "x",
        "state": "CANCELED",
        "start-time": 1,
        "end-time": 1795234414000,
    }
    filled.overview = Answer("/jobs/overview", AT, entry)
    (job,) = of_type(Job, records(filled)[0])
    assert job.state == "CANCELED"
    assert job.end_time is not None
    assert job.vertices


def test_a_restored_job_tells_from_where():
    restored = next(
        answer
        for answer in answers("1.20.5/H")
        if answer.endpoint.endswith("/checkpoints") and answer.body["latest"]["restored"]
    )
    job_id = restored.path.split("/")[2]
    job_answer = next(answer for answer in answers("1.20.5/H") if answer.path == f"/jobs/{job_id}")
    (job,) = of_type(Job, records(JobAnswers(job_id, job=job_answer, checkpoints=restored))[0])
    assert job.restored_checkpoint_id == restored.body["latest"]["restored"]["id"]
    assert job.restored_path == restored.body["latest"]["restored"]["external_path"]


def test_each_checkpoint_is_told_once_per_status_though_list_and_detail_both_tell():
    found = of_type(Checkpoint, records(reading("1.20.5/E"))[0])
    assert len({(record.checkpoint_id, record.status) for record in found}) == len(found)


def test_a_detail_that_flink_took_from_another_job_is_not_told():
    filled = reading("1.20.5/E")
    checkpoint_id, mine = next(
        (id, answer) for id, answer in filled.details.items() if answer.body["trigger_timestamp"]
    )
    others = mine.body | {
        "trigger_timestamp": mine.body["trigger_timestamp"] + 2_000,
        "state_size": 1,
    }
    filled.details[checkpoint_id] = with_body(mine, others)
    listed = {
        (entry["id"], entry["trigger_timestamp"]) for entry in filled.checkpoints.body["history"]
    }
    assert (checkpoint_id, mine.body["trigger_timestamp"]) in listed
    found, skips = records(filled)
    assert not skips
    assert [
        row.state_bytes for row in of_type(Checkpoint, found) if row.checkpoint_id == checkpoint_id
    ] == [mine.body["state_size"]]
    assert not [
        row for row in of_type(VertexCheckpoint, found) if row.checkpoint_id == checkpoint_id
    ]


def test_a_vertex_with_a_subtask_answer_is_told_with_its_arrays_only():
    found = of_type(VertexCheckpoint, records(reading("1.20.5/E"))[0])
    assert len({(record.checkpoint_id, record.vertex_id) for record in found}) == len(found)
    assert all(record.subtask_sync_ms is not None for record in found)


def test_without_subtask_answers_the_vertices_of_the_details_remain():
    filled = reading("1.20.5/E")
    filled.subtasks.clear()
    found = of_type(VertexCheckpoint, records(filled)[0])
    assert len(found) == 4 * len(filled.details)
    assert all(record.subtask_sync_ms is None for record in found)


def test_a_subtask_answer_takes_its_trigger_time_from_the_list_where_the_detail_is_gone():
    filled = reading("1.20.5/E")
    listed = {entry["id"] for entry in filled.checkpoints.body["history"]}
    filled.details.clear()
    found, skips = records(filled)
    assert {record.checkpoint_id for record in of_type(VertexCheckpoint, found)} == listed
    assert all("has its trigger time" in skip.detail for skip in skips)


def test_one_bad_entry_of_the_list_costs_that_entry_alone():
    filled = reading("1.20.5/E")
    filled.details.clear()
    filled.subtasks.clear()
    whole = of_type(Checkpoint, records(filled)[0])
    history = [
        {**filled.checkpoints.body["history"][0], "id": None},
        *filled.checkpoints.body["history"][1:],
        None,
    ]
    filled.checkpoints = with_body(
        filled.checkpoints, {**filled.checkpoints.body, "history": history, "latest": None}
    )
    found, skips = records(filled)
    assert of_type(Checkpoint, found) == whole[1:]
    assert [skip.subject.partition("#")[2] for skip in skips] == [
        "history[0]",
        f"history[{len(history) - 1}]",
    ]
    assert skips[0].reason == "bad_payload"


@pytest.mark.parametrize(
    "part",
    [
        "plan",
        "config",
        "checkpoint_config",
        "jobmanager_config",
        "checkpoints",
        "exceptions",
        "job_metrics",
    ],
)
def test_a_part_of_a_wrong_shape_leaves_the_job_there(part):
    filled = reading("1.20.5/E")
    setattr(filled, part, Answer(f"/{part}", AT, "an incomplete JSON"))
    if part == "plan":
        filled.job = with_body(filled.job, {**filled.job.body, "plan": None})
    found, skips = records(filled)
    assert len(of_type(Job, found)) == 1
    assert f"/{part}" in {skip.subject for skip in skips}


def test_samples_join_metrics_ratios_and_places_per_subtask():
    vertex = next(found for found in sample("1.20.5/B") if found.parallelism == 4)
    assert {
        len(values)
        for values in (vertex.in_pool_usage, vertex.busy_ms_per_s, vertex.host, vertex.attempt)
    } == {4}
    assert set(vertex.task_state) <= {"RUNNING", "INITIALIZING", "DEPLOYING", "SCHEDULED"}


def test_1_12_has_pools_and_idle_time_but_no_busy_time():
    vertex = next(found for found in sample("1.12.5/G") if found.out_pool_usage)
    assert vertex.busy_ms_per_s is None
    assert vertex.in_pool_usage is not None
    assert vertex.idle_ms_per_s is not None


def test_parallelism_5000_gives_one_sample_of_5000_elements():
    body = [
        {"id": f"{subtask}.busyTimeMsPerSecond", "value": str(subtask)} for subtask in range(5000)
    ]
    filled = JobAnswers("j", metrics={"v": [Answer("/jobs/j/vertices/v/metrics?get=…", AT, body)]})
    (found,), skips = records(filled)
    assert found.busy_ms_per_s == tuple(float(subtask) for subtask in range(5000))
    assert skips == ()


def test_metrics_asked_in_pieces_make_one_sample():
    asked_for = [
        ("0.busyTimeMsPerSecond", "1"),
        ("1.busyTimeMsPerSecond", "2"),
        ("0.numRecordsInPerSecond", "3"),
    ]
    pieces = [[{"id": metric_id, "value": value}] for metric_id, value in asked_for]
    asked = [
        Answer(f"/jobs/j/vertices/v/metrics?get={number}", AT, piece)
        for number, piece in enumerate(pieces)
    ]
    (found,), _ = records(JobAnswers("j", metrics={"v": asked}))
    assert found.busy_ms_per_s == (1.0, 2.0)
    assert found.records_in_per_s == (3.0, None)


def test_a_bad_piece_of_metrics_costs_that_piece_alone():
    good = Answer(
        "/jobs/j/vertices/v/metrics?get=a", AT, [{"id": "0.busyTimeMsPerSecond", "value": "1"}]
    )
    bad = Answer(
        "/jobs/j/vertices/v/metrics?get=b", AT, [{"id": "1.busyTimeMsPerSecond", "value": {}}]
    )
    (found,), skips = records(JobAnswers("j", metrics={"v": [good, bad]}))
    assert found.busy_ms_per_s == (1.0,)
    assert [skip.subject for skip in skips] == ["/jobs/j/vertices/v/metrics"]


def test_each_record_is_observed_when_its_own_answer_came():
    filled = reading("1.20.5/E")
    seen = {
        record.checkpoint_id: found.observed_at
        for found in observe_job(filled, "c", "rest")
        for record in of_type(Checkpoint, found.records)
    }
    assert all(seen[checkpoint_id] == answer.at for checkpoint_id, answer in filled.details.items())


def test_a_taskmanager_known_only_from_the_list_is_told_too():
    listed = {"taskmanagers": [{"id": "a"}, {"id": "b"}, {"id": 3}]}
    cluster = ClusterAnswers(
        Answer("/taskmanagers", AT, listed),
        {"a": Answer("/taskmanagers/a", AT, {"id": "a", "slotsNumber": 2})},
    )
    (found,) = observe_cluster(cluster, "c")
    assert [(record.taskmanager_id, record.slots) for record in found.records[:2]] == [
        ("a", 2),
        ("b", None),
    ]
    assert found.records[2].subject == "/taskmanagers#taskmanagers[2]"
