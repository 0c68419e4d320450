"""Starts of recorded jobs against Flink's raw answers and logs."""

import gzip
import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from spark_jobs.serving import (
    CHECKPOINT_FACT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_START,
    LOG_EVENT,
)
from tests.first_cycles import served_tables
from tests.raw_starts import FIXTURES, by_log, by_rest, states_by_rest
from tests.selections import mostly_long
from tests.webapp.builders import cluster, job, start
from webapp.analyses.job.starts import calls_text, starts_verdict
from webapp.analyses.starts.job_starts import job_starts
from webapp.analyses.starts.rpc_troubles import rpc_troubles
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobAnnotation, JobCurrent, JobStart, LogEvent

pytestmark = pytest.mark.django_db
SLOW = ["incidents/1.20.5/slow-restore", "incidents/2.3.0/slow-restore"]


def taken_up(recording: str, home: Path) -> list[JobCurrent]:
    models = {
        JOB_CURRENT: JobCurrent,
        JOB_START: JobStart,
        CHECKPOINT_FACT: CheckpointFact,
        LOG_EVENT: LogEvent,
        JOB_ANNOTATION: JobAnnotation,
    }
    for model, rows in zip(
        models.values(), served_tables(FIXTURES / recording, home, *models), strict=True
    ):
        model.objects.bulk_create(model(**row) for row in rows)  # type: ignore[attr-defined]
    return list(JobCurrent.objects.order_by("start_time"))


def ms(at: Any) -> int:
    return round(at.timestamp() * 1000)


def duration(start: Any, phase: str) -> int:
    return int(start.phase_of[phase].duration_ms)


@pytest.mark.parametrize("recording", SLOW)
def test_phases_are_those_of_flinks_answers(recording: str, home: Path) -> None:
    (job,) = taken_up(recording, home)
    found = job_starts(job)
    raw, entered = by_rest(recording), states_by_rest(recording)
    assert len(found.starts) == len(raw) >= 3
    for one, answers in zip(reversed(found.starts), raw, strict=True):
        assert (one.reported_by, one.tasks) == ("rest", answers["tasks"])
        assert ms(one.running_at) == answers["RUNNING"]
        assert duration(one, "restore") == answers["RUNNING"] - answers["INITIALIZING"]
        assert duration(one, "deploy") == answers["INITIALIZING"] - answers["DEPLOYING"]
        assert duration(one, "slots") == answers["DEPLOYING"] - ms(one.at)
        assert ms(one.at) in entered["RUNNING"]
        assert (
            sum(phase.duration_ms for phase in one.phases if phase.name != "detect") == one.total_ms
        )
    first = found.starts[-1]
    assert ms(first.begun_at) in entered["INITIALIZING"]
    assert duration(first, "graph") == ms(first.at) - ms(first.begun_at)
    for one in found.starts[:-1]:
        assert (one.kind, one.downtime_ms) == ("restart", one.total_ms)
        assert (
            min(abs(ms(one.begun_at) - at) for at in entered["RESTARTING"]) <= 20
        )  # dated by the log


@pytest.mark.parametrize("recording", ["recordings/1.12.5/G", "incidents/1.20.5/few-buffers"])
def test_where_no_answer_tells_the_log_does(recording: str, home: Path) -> None:
    (job,) = taken_up(recording, home)
    found = [one for one in reversed(job_starts(job).starts) if one.reported_by == "log"]
    raw = {one["RUNNING"]: one for one in by_log(recording)}
    assert found
    for one in found:
        lines = raw[ms(one.running_at)]
        assert one.tasks == lines["tasks"]
        assert (
            duration(one, "deploy")
            == lines.get("INITIALIZING", lines["RUNNING"]) - lines["DEPLOYING"]
        )
        assert ("restore" in one.phase_of) == ("INITIALIZING" in lines)


@pytest.mark.parametrize(
    "recording", [f"incidents/{version}/rescaled" for version in ("1.20.5", "2.1.1", "2.3.0")]
)
def test_a_rescale_under_the_adaptive_scheduler_is_told_by_its_phases(
    recording: str, home: Path
) -> None:
    """The job is never RESTARTING: what ran is cancelled, and a new execution graph made."""
    (job,) = taken_up(recording, home)
    rescale, first = job_starts(job).starts
    assert (first.kind, first.tasks, rescale.kind, rescale.tasks) == ("start", 8, "rescale", 6)
    (log,) = (FIXTURES / recording / "logs").glob("*standalonesession*")
    lines = gzip.decompress(log.read_bytes()).decode()
    found = re.findall(
        r"^(\S+ \S+) INFO .* - Job .* switched from state \w+ to (\w+)", lines, re.MULTILINE
    )
    changes = {
        state: ms(datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC))
        for at, state in found
    }
    assert abs(ms(rescale.begun_at) - changes["CANCELLING"]) <= 2
    assert abs(duration(rescale, "cancel") - (changes["CANCELED"] - changes["CANCELLING"])) <= 2
    assert abs(ms(rescale.at) - changes["RUNNING"]) <= 2
    last = by_rest(recording)[-1]
    assert (ms(rescale.running_at), duration(rescale, "restore")) == (
        last["RUNNING"],
        last["RUNNING"] - last["INITIALIZING"],
    )
    assert (
        sum(phase.duration_ms for phase in rescale.phases)
        == rescale.total_ms
        == rescale.downtime_ms
    )


def test_the_output_gap_lies_between_completed_checkpoints(home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    done = sorted(ms(one.end_time) for one in CheckpointFact.objects.filter(outcome="completed"))
    begun = {
        one.checkpoint_id: ms(one.trigger_time)
        for one in CheckpointFact.objects.filter(outcome="completed")
    }
    for one in job_starts(job).starts[:-1]:
        after = min(
            (
                ms(fact.end_time)
                for fact in CheckpointFact.objects.filter(outcome="completed")
                if begun[fact.checkpoint_id] >= ms(one.running_at)
            ),
            default=None,
        )
        before = max(at for at in done if at <= ms(one.begun_at))
        assert one.output_gap_ms == (None if after is None else after - before)


def test_phases_are_compared_with_earlier_starts_of_jobs_of_the_name(home: Path) -> None:
    jobs = taken_up("recordings/1.20.5/H", home)
    JobCurrent.objects.update(name="the same")
    last = JobCurrent.objects.get(pk=jobs[-1].pk)
    found = job_starts(last)
    own = JobStart.objects.get(job_id=last.job_id)
    earlier = sorted(one.restore_ms for one in JobStart.objects.filter(at__lt=own.at))
    assert (found.compared, found.jobs) == (len(earlier) + 1, len(jobs))
    assert found.starts[0].phase_of["restore"].usual_ms == earlier[(len(earlier) - 1) // 2]
    first = job_starts(JobCurrent.objects.get(pk=jobs[0].pk))
    assert first.starts[0].usual_total_ms is None
    assert "median" not in starts_verdict(first).sentence


def answered(viewer: Any, job: JobCurrent) -> dict[str, Any]:
    """The document over the API; its tables by key under ``tables``."""
    found = viewer.get(reverse("api-job-analysis-starts", args=(job.cluster, job.job_id))).json()
    return {
        **found,
        "tables": {one["key"]: one for one in found["blocks"] if one["kind"] == "table"},
    }


def test_what_held_a_start_up_is_named_in_the_verdict(viewer: Any, home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    found = answered(viewer, job)
    assert found["verdict"]["tone"] == "warn"
    assert re.search(
        "enrich/0 on flink-tm-.* delayed all others by 15 s", found["verdict"]["sentence"]
    )
    assert [one["kind"] for one in found["tables"]["starts"]["rows"]] == [
        "Restart",
        "Restart",
        "Start",
    ]
    assert {one["phase"] for one in found["tables"]["phases"]["rows"] if one["usual_ms"]} >= {
        "Deploy",
        "Restore",
    }


def test_a_job_of_which_no_start_was_seen_says_so(viewer: Any, home: Path) -> None:
    (job,) = taken_up(SLOW[0], home)
    JobStart.objects.all().delete()
    downloads = LogEvent.objects.filter(kind="blob_download")
    fetched = f"{downloads.earliest('ts').ts:%Y-%m-%d %H:%M:%S} UTC"
    found = answered(viewer, job)
    assert found["verdict"] == {
        "tone": "unknown",
        "sentence": f"It was deployed at {fetched}, when its jars were fetched. When all tasks "
        "ran was not seen.",
    }
    assert len(found["tables"]["jars"]["rows"]) == 2
    downloads.delete()
    verdict_of = answered(viewer, job)["verdict"]
    no_start = "No start of this job was seen from its beginning until all tasks ran."
    assert (verdict_of["tone"], verdict_of["sentence"]) == ("unknown", no_start)


@pytest.mark.parametrize("recording", SLOW)
def test_a_start_that_restores_nothing_is_not_called_a_restore(
    recording: str, viewer: Any, home: Path
) -> None:
    (job,) = taken_up(recording, home)
    (first,) = [one for one in job_starts(job).starts if one.kind == "start"]
    assert first.restored is None
    sentence = starts_verdict(job_starts(job, until=first.running_at)).sentence
    assert "restore" not in sentence
    newest = job_starts(job).newest
    assert newest is not None and newest.restored is not None
    assert newest.restored.checkpoint_id is not None


@pytest.mark.parametrize(
    "at",
    [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)],
    ids=["year 1", "year 9999"],
)
def test_starts_at_the_ends_of_the_calendar_cost_no_page(viewer: Any, at: datetime) -> None:
    cluster(at=datetime(2026, 1, 1, tzinfo=UTC))
    of = job(at=datetime(2026, 1, 1, tzinfo=UTC))
    start(of, datetime(2026, 1, 1, tzinfo=UTC), begun_at=at, running_at=at, deployed_at=at)
    where = (of.cluster, of.job_id)
    for name in ("starts", "api-job-analysis-starts"):
        assert viewer.get(reverse(name, args=where)).status_code == 200


@pytest.mark.parametrize("version", mostly_long(["2.3.0", "1.20.5"]))
def test_calls_that_timed_out_are_counted_by_second_as_the_raw_logs_have_them(
    viewer: Any, home: Path, version: str
) -> None:
    """By hand: requests for slots and tasks that failed by a time-out or a partition not found,
    each attempt once, at its first line.
    """
    recording = f"incidents/{version}/short-ask"
    (job,) = taken_up(recording, home)
    text = "\n".join(
        gzip.decompress(path.read_bytes()).decode()
        for path in sorted((FIXTURES / recording / "logs").iterdir())
    )
    every = re.split(r"\n(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} )", text)
    records = [
        one for one in every if "AskTimeoutException" in one or "PartitionNotFoundException" in one
    ]
    slots = [
        one[:19] for one in records if "Slot allocation for allocation" in one.partition("\n")[0]
    ]
    failed: dict[str, str] = {}
    missing = 0
    for one in sorted(records):
        if match := re.search(
            r"\(([0-9a-f_]{65,})\) switched from \w+ to FAILED", one.partition("\n")[0]
        ):
            missing += match[1] not in failed and "PartitionNotFoundException" in one
            failed.setdefault(match[1], one[:19])
    assert missing and len(failed) > missing
    told = rpc_troubles(job, None, ())
    counted = (*(told.totals[name] for name in ("slots", "deployments", "partitions")), told.cut)
    assert counted == (len(slots), len(failed) - missing, missing, False)
    by_second = Counter([*slots, *failed.values()])
    assert {f"{one.at:%Y-%m-%d %H:%M:%S}": one.calls for one in told.seconds} == by_second
    found = answered(viewer, job)
    worst = found["tables"]["calls"]["rows"][0]
    assert worst["slots"] + worst["deployments"] + worst["partitions"] == max(by_second.values())
    sentence = (
        f"{len(slots)} requests for slots and {len(failed) - missing} calls about tasks "
        "timed out in an hour"
    )
    assert found["verdict"]["tone"] == "warn" and sentence in found["verdict"]["sentence"]


def test_a_job_whose_calls_came_in_time_says_so_and_one_without_logs_that_it_is_not_known(
    home: Path, django_assert_num_queries: Any
) -> None:
    (job,) = taken_up(SLOW[0], home)
    with django_assert_num_queries(2):
        found = rpc_troubles(job, None, ())
    assert found.seconds == ()
    assert calls_text(found).startswith("No request for a slot")
    LogEvent.objects.all().delete()
    assert calls_text(rpc_troubles(job, None, ())).startswith(
        "Whether calls timed out is not known"
    )


@pytest.mark.parametrize(
    "recording", mostly_long(["incidents/2.3.0/many-tasks", "incidents/1.20.5/many-tasks"])
)
def test_of_a_start_of_1500_tasks_the_slowest_hundredth_is_named_and_whoever_straggled(
    recording: str, viewer: Any, home: Path
) -> None:
    """By hand, out of Flink's last answers: from DEPLOYING to RUNNING, over five vertices of 300
    subtasks.
    """
    (job,) = taken_up(recording, home)
    newest: dict[str, list[Any]] = {}
    for line in (
        gzip.decompress((FIXTURES / recording / "rest.jsonl.gz").read_bytes()).decode().splitlines()
    ):
        told = json.loads(line)
        if told["status"] == 200 and (
            match := re.fullmatch(r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})", told["path"])
        ):
            newest[match[1]] = told["body"]["subtasks"]
    took: dict[tuple[str, int], int] = {}
    straggling: set[tuple[str, int]] = set()
    for vertex, subtasks in newest.items():
        of_vertex = {
            (vertex, one["subtask"]): one["status-duration"]["DEPLOYING"]
            + one["status-duration"]["INITIALIZING"]
            for one in subtasks
        }
        usual = sorted(of_vertex.values())[(len(of_vertex) - 1) // 2]
        straggling |= {
            task for task, ms in of_vertex.items() if ms >= 3 * usual and ms >= usual + 1_000
        }
        took |= of_vertex
    assert len(took) == 1_500
    (found,) = job_starts(job).starts
    named = found.detail["slowest"]
    assert (found.tasks, found.stragglers) == (1_500, len(straggling))
    assert len(named) == max(15, min(len(straggling), 100))
    assert [(one["vertex_id"], one["subtask"]) for one in named] == sorted(
        took, key=lambda task: (-took[task], task)
    )[: len(named)]
    assert [one["own_ms"] for one in named] == sorted(took.values(), reverse=True)[: len(named)]
    slowest = answered(viewer, job)["tables"]["slowest"]
    assert f"{len(named)} of 1,500" in slowest["subtitle"] and len(slowest["rows"]) == len(named)
