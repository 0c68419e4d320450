"""Restores of real jobs, against the JobManager's log, Flink's raw answers, and its own reading of
``_metadata``.
"""

import gzip
import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import pytest
from django.core.cache import cache
from django.urls import reverse

from spark_jobs.serving import (
    CHECKPOINT_FACT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_START,
    LOG_EVENT,
)
from tests import played_trees
from tests.first_cycles import CLUSTER, served_tables
from tests.raw_outages import LINE, folder_of, jobmanager_log, raw_outages
from tests.selections import mostly_long
from tests.webapp.builders import start, window
from tests.webapp.storage.builders import root
from webapp.analyses.recovery.failover import failover
from webapp.analyses.recovery.job_restores import HISTORY, job_restores, recent_outages
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobAnnotation, JobCurrent, JobStart, LogEvent

pytestmark = pytest.mark.django_db
RECORDINGS = Path(__file__).parents[3] / "fixtures" / "recordings"
KILLED, FAILING, UNION = "1.20.5/I", "1.20.5/J", "1.20.5/L2"
KILLED_NEW, FAILING_NEW = "2.3.0/killed", "2.3.0/leaking"
ALL = (KILLED, FAILING, KILLED_NEW, FAILING_NEW)


@pytest.fixture(scope="module")
def cycles(tmp_path_factory):
    kept = {}

    def of(recording):
        if recording not in kept:
            tables = (JOB_CURRENT, CHECKPOINT_FACT, JOB_ANNOTATION, LOG_EVENT, JOB_START)
            kept[recording] = served_tables(
                folder_of(recording), tmp_path_factory.mktemp("home"), *tables
            )
        return kept[recording]

    return of


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The checkpoints that were left of the killed TaskManager's job."""
    folder = tmp_path_factory.mktemp("tree")
    played_trees.lay_out(KILLED_NEW, folder)
    return folder


@pytest.fixture
def taken_up(cycles, tree):
    cache.clear()

    def of(recording):
        for model, rows in zip(
            (JobCurrent, CheckpointFact, JobAnnotation, LogEvent, JobStart),
            cycles(recording),
            strict=True,
        ):
            model.objects.bulk_create(model(**row) for row in rows)
        if recording == UNION:
            root("file:/opt/l/lab/run/1.20.5-L2", read_at=str(RECORDINGS / UNION))
        if recording == KILLED_NEW:
            root(played_trees.root_uri(recording), read_at=str(tree))
        return JobCurrent.objects.order_by("-last_seen_at").first()

    return of


def restores(job):
    return job_restores(job, job.last_seen_at)


def restored_by_log(recording):
    """Begin of each outage (epoch ms) → from the last task that began to restore to its end."""
    at = [
        round(
            datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()
            * 1000
        )
        for line in jobmanager_log(recording).splitlines()
        if (match := LINE.match(line)) and match[3] == "INITIALIZING"
    ]
    return {
        one.begun_ms: (
            one.ended_ms - max(ms for ms in at if one.begun_ms <= ms <= one.ended_ms),
            one.restored_id,
        )
        for one in raw_outages(recording)
    }


def told_by_rest(recording):
    plain = folder_of(recording) / "rest.jsonl"
    text = (
        plain.read_text()
        if plain.exists()
        else gzip.decompress(plain.with_name("rest.jsonl.gz").read_bytes()).decode()
    )
    return map(json.loads, text.splitlines())


@pytest.mark.parametrize("recording", mostly_long(ALL, short=2))
def test_restores_are_those_of_the_log_with_the_sizes_of_flinks_answers(recording, taken_up):
    job = taken_up(recording)
    found = restores(job).observed
    told = restored_by_log(recording)
    by_instant = {round(one.at.timestamp() * 1000): one for one in found}
    assert {at: one.checkpoint_id for at, one in by_instant.items()} == {
        at: number for at, (_, number) in told.items()
    }
    # REST, whose dates are preferred, and the log date one change of state apart.
    assert {at: one.restore_ms for at, one in by_instant.items()} == pytest.approx(
        {at: ms for at, (ms, _) in told.items()}, abs=50
    )
    sizes = {}
    for answer in told_by_rest(recording):
        if answer["status"] == 200 and answer["path"].split("?")[0].endswith(
            f"{job.job_id}/checkpoints"
        ):
            sizes |= {
                one["id"]: one["state_size"]
                for one in answer["body"]["history"]
                if one["status"] == "COMPLETED"
            }
    assert {one.checkpoint_id: one.state_bytes for one in found if one.checkpoint_id in sizes} == {
        one.checkpoint_id: sizes[one.checkpoint_id] for one in found if one.checkpoint_id in sizes
    }


def test_killed_taskmanagers_are_counted_with_the_restores_they_caused(taken_up):
    """In the recording one was killed five times, each time when all tasks ran again."""
    assert [one.lost_taskmanagers for one in restores(taken_up(KILLED)).observed] == [1] * 5


def test_failing_tasks_lose_no_taskmanager(taken_up):
    assert not any(one.lost_taskmanagers for one in restores(taken_up(FAILING)).observed)


def test_union_state_is_that_which_flink_reads_in_the_metadata(
    taken_up, django_assert_max_num_queries
):
    job = taken_up(UNION)
    with django_assert_max_num_queries(16):
        found = restores(job)
    checkpoint = next(one for one in found.choices if one.kind == "checkpoint")
    folder = RECORDINGS / UNION / "ckpt" / job.job_id / f"chk-{checkpoint.checkpoint_id}"
    header, *handles = map(json.loads, (folder / "_metadata.oracle.jsonl").read_text().splitlines())
    parallelism = {one["operator_id"]: one["parallelism"] for one in header["operators"]}
    files, sizes = defaultdict(set), defaultdict(int)
    for one in handles:
        if any(
            ":" in mode and mode.startswith("UNION")
            for mode in (one.get("partitions") or {}).values()
        ):
            sizes[one["operator_id"]] += one["size"]
            if one["path_or_null"]:
                files[one["operator_id"]].add(one["path_or_null"])
    assert found.unions_of == checkpoint.checkpoint_id
    assert {one.operator_id: (one.parallelism, one.files, one.reads) for one in found.unions} == {
        operator: (
            parallelism[operator],
            len(files[operator]),
            parallelism[operator] * len(files[operator]),
        )
        for operator in sizes
    }
    assert {one.operator_id: one.read_bytes for one in found.unions} == {
        id: parallelism[id] * size for id, size in sizes.items()
    }
    assert found.unions
    assert checkpoint.files == len({one["physical_id"] for one in handles if one["path_or_null"]})


def test_a_restore_now_is_expected_by_what_was_observed_with_the_files_that_lie_there(taken_up):
    found = restores(taken_up(KILLED_NEW))
    chosen = {one.kind: one for one in found.choices}
    newest = chosen["checkpoint"]
    observed = [one.restore_ms for one in found.observed if one.kind == "checkpoint"]
    assert (
        newest.estimate.least_ms <= newest.estimate.expected_ms <= newest.estimate.most_ms
        and len(observed) == newest.estimate.observations
    )
    assert newest.files and chosen["savepoint"].checkpoint_id < newest.checkpoint_id
    assert {one.parallelism for one in found.unions} == {6}


def test_the_savepoint_is_a_choice_of_its_own_with_its_files(taken_up):
    found = {one.kind: one for one in restores(taken_up(UNION)).choices}
    assert found["savepoint"].path.endswith("savepoint-27f570-2db21965c708")
    assert found["savepoint"].files > 0
    assert found["savepoint"].estimate is None
    assert (found["local"].files, found["local"].file_bytes) == (0, 0)


def document(viewer, name, job):
    """Over the API; its tables by key under ``tables``."""
    found = viewer.get(reverse(f"api-job-analysis-{name}", args=(CLUSTER, job.job_id))).json()
    return {
        **found,
        "tables": {one["key"]: one["rows"] for one in found["blocks"] if one["kind"] == "table"},
    }


def test_the_verdict_says_what_a_restore_would_take(taken_up, viewer):
    job = taken_up(FAILING)
    found = document(viewer, "recovery", job)
    assert found["verdict"]["tone"] == "ok"
    assert found["verdict"]["sentence"].startswith("A restore from checkpoint")
    assert len(found["tables"]["observed"]) == len(restored_by_log(FAILING))
    assert [one["from"] for one in found["tables"]["choices"]][:2] == [
        "Newest checkpoint",
        "Newest checkpoint, local recovery",
    ]


def test_union_state_is_a_table_of_its_own(taken_up, viewer):
    job = taken_up(UNION)
    found = document(viewer, "recovery", job)["tables"]["unions"]
    assert [one["reads"] for one in found] == [one.reads for one in restores(job).unions]


def test_a_taskmanager_that_may_be_lost_is_named_with_its_host(taken_up, viewer):
    job = taken_up(KILLED)
    losses = [
        one
        for one in document(viewer, "one-task-fails", job)["tables"]["losses"]
        if one["taskmanager_id"]
    ]
    regions = of_failure(job)
    assert {one["taskmanager_id"]: (one["host"], one["restarts"]) for one in losses} == {
        one.taskmanager_id: (one.host, one.restarts) for one in regions.taskmanagers[:10]
    }


def of_failure(job):
    at = job.last_seen_at
    return failover(job, at, at - HISTORY, recent_outages(job, at))


def told_restarts(recording):
    return [
        int(count)
        for count in re.findall(
            r" - (\d+) tasks will be restarted to recover", jobmanager_log(recording)
        )
    ]


@pytest.mark.parametrize("recording", ALL)
def test_restarts_that_were_logged_are_of_the_regions_of_the_plan(recording, taken_up):
    """Their jobs shuffle each with each: one region, and every restart was of all tasks."""
    found = of_failure(taken_up(recording))
    assert (found.regions, found.largest) == (1, found.tasks)
    assert set(told_restarts(recording)) == {found.tasks}
    assert {one.restarts for one in (*found.vertices, *found.taskmanagers, *found.hosts)} == {
        found.tasks
    }


@pytest.mark.parametrize("recording", ALL)
def test_phases_are_the_medians_of_what_the_log_has(recording, taken_up):
    found = of_failure(taken_up(recording))
    raw = raw_outages(recording)
    assert found.phases.outages == len(raw)
    assert found.phases.downtime_ms == median(one.ended_ms - one.begun_ms for one in raw)
    assert found.phases.alone_ms < found.phases.downtime_ms


@pytest.mark.parametrize("recording", [KILLED, KILLED_NEW])
def test_killed_taskmanagers_waited_for_slots_and_failed_tasks_did_not(recording, taken_up):
    job = taken_up(recording)
    assert any(one.lost_taskmanagers for one in restores(job).observed)
    spare = of_failure(job).spare
    assert spare is not None
    assert spare.saved_ms == max(spare.lost_wait_ms - spare.usual_ms, 0)


def test_a_job_that_lost_no_taskmanager_knows_nothing_of_spare_slots(taken_up):
    assert of_failure(taken_up(FAILING)).spare is None


def test_records_that_a_task_alone_would_lose_are_its_rate_for_the_time_it_is_away(taken_up):
    job = taken_up(FAILING)
    window(
        job,
        job.graph["vertices"][1]["vertex_id"],
        job.last_seen_at - timedelta(minutes=1),
        records_in_per_s=300.0,
    )
    found = of_failure(job)
    one = found.vertices[1]
    lost = 300 / one.parallelism * found.phases.alone_ms / 1000
    assert one.alone_records == round(lost)
    assert found.vertices[0].alone_records is None


def test_a_restore_at_a_first_start_counts(taken_up):
    job = taken_up(FAILING)
    own = CheckpointFact.objects.filter(outcome="completed", is_savepoint=False)
    taken, before = own.latest("trigger_time"), job.start_time
    JobStart.objects.filter(kind="start").delete()
    start(
        job,
        before + timedelta(seconds=1),
        kind="start",
        begun_at=before,
        running_at=before + timedelta(seconds=6),
        restore_ms=5_400,
        restored_checkpoint_id=taken.checkpoint_id,
        restored_path=f"file:/ckpt/{job.job_id}/chk-{taken.checkpoint_id}",
    )
    found = restores(job).observed
    assert len(found) == len(restored_by_log(FAILING)) + 1
    assert (
        found[-1].at,
        found[-1].restore_ms,
        found[-1].checkpoint_id,
        found[-1].state_bytes,
    ) == (before, 5_400, taken.checkpoint_id, taken.state_bytes)


def test_restores_are_known_without_a_log(taken_up):
    job = taken_up(FAILING)
    JobAnnotation.objects.all().delete()
    LogEvent.objects.all().delete()
    found = restores(job)
    assert len(found.observed) == len(restored_by_log(FAILING))
    assert not any("No restore" in reason for reason in found.unknown)
