"""Lost and living TaskManagers, restarts and restores of recorded jobs: finding, hosts, resources,
recovery, starts and report tell the same, which is what the raw lines and answers say.
"""

import gzip
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.cache import cache

from spark_jobs.serving import (
    CHECKPOINT_FACT,
    FINDING_OCCURRENCE,
    HOST_EVENT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_EXCEPTION,
    JOB_HOST,
    JOB_START,
    LOG_EVENT,
    TASKMANAGER_LIFE,
)
from tests.first_cycles import served_tables
from tests.webapp.placement.recorded import FIXTURES, answers
from webapp.analyses.recovery.job_restores import job_restores
from webapp.analyses.recovery.observed_restores import recent_outages
from webapp.analyses.resources.lookup import look_up_fleet, look_up_resources
from webapp.analyses.starts.job_starts import job_starts
from webapp.checkpoints.outages import outage_totals, outages
from webapp.fleet.models import JobCurrent
from webapp.hosts import lookup
from webapp.hosts.lives import lost
from webapp.hosts.models import HostEvent
from webapp.hosts.taskmanagers import taskmanagers_of
from webapp.hosts.timeline import timeline
from webapp.pipeline.table_models import SERVED
from webapp.reports.gathering.incident import gather
from webapp.reports.gathering.scope import JobKey, checked

pytestmark = pytest.mark.django_db
LOADED = (
    JOB_CURRENT,
    CHECKPOINT_FACT,
    JOB_ANNOTATION,
    JOB_START,
    JOB_HOST,
    JOB_EXCEPTION,
    HOST_EVENT,
    LOG_EVENT,
    TASKMANAGER_LIFE,
)
LOSING = {
    "recordings/1.20.5/I": 5,
    "incidents/2.3.0/killed": 1,
    "incidents/2.3.0/lost-file": 1,
    "incidents/1.20.5/lost-file": 1,
}
RESTARTING = (
    "recordings/1.20.5/J",
    "incidents/2.3.0/leaking",
    "incidents/1.20.5/short-ask",
    "incidents/1.20.5/slow-restore",
)
DAY = timedelta(days=1)
_LOST = re.compile(
    r"(?:TaskManager with id (\S+?)(?:\(\S+\))? is no longer reachable"
    r"|eartbeat of TaskManager with id (\S+?)(?:\(\S+\))? timed out)"
)


class Recorded(NamedTuple):
    name: str
    jobs: list[JobCurrent]
    findings: list[dict[str, Any]]


@pytest.fixture
def recorded(request: pytest.FixtureRequest, home: Path) -> Iterator[Recorded]:
    cache.clear()
    *rows, findings = served_tables(FIXTURES / request.param, home, *LOADED, FINDING_OCCURRENCE)
    for table, of_table in zip(LOADED, rows, strict=True):
        model = SERVED[table.name].model
        model._default_manager.bulk_create(model(**row) for row in of_table)
    jobs = list(JobCurrent.objects.order_by("start_time"))
    yield Recorded(request.param, jobs, findings)


def jobmanager_lines(recording: str) -> list[str]:
    (log,) = (FIXTURES / recording / "logs").glob("*standalonesession*")
    content = log.read_bytes()
    return (gzip.decompress(content) if log.suffix == ".gz" else content).decode().splitlines()


def lost_by_log(recording: str, jobs: int) -> set[str]:
    """Ids that a line names as lost before the last of the jobs is stopped."""
    lines = jobmanager_lines(recording)
    stopped = [at for at, line in enumerate(lines) if "Stopping the JobMaster for job" in line]
    until = stopped[-1] if len(stopped) == jobs else len(lines)
    return {
        matched[1] or matched[2]
        for line in lines[:until]
        if line[:2] == "20" and (matched := _LOST.search(line))
    }


def slots_by_rest(recording: str, job_id: str) -> Counter[str]:
    """Slots that the job had by TaskManager, in the last answers in which it had any."""
    newest: dict[str, tuple[float, int]] = {}
    for answer in answers(recording):
        if matched := re.fullmatch(r"/taskmanagers/([^/?]+)", answer["path"]):
            slots = answer["body"].get("allocatedSlots") or ()
            own = sum(slot["jobId"] == job_id for slot in slots)
            if own or matched[1] in newest:
                newest.setdefault(matched[1], (answer["ts"], own))
                if own or answer["ts"] <= max(at for at, _ in newest.values()) + 1:
                    newest[matched[1]] = (answer["ts"], own)
    last = max((at for at, _ in newest.values()), default=0)
    return Counter({name: own for name, (at, own) in newest.items() if own and at >= last - 3})


@pytest.mark.parametrize("recorded", [*LOSING, *RESTARTING], indirect=True)
def test_lost_and_living_taskmanagers_are_the_same_wherever_they_are_told(
    recorded: Recorded,
) -> None:
    by_log = lost_by_log(recorded.name, len(recorded.jobs))
    assert len(by_log) == LOSING.get(recorded.name, 0)
    last = recorded.jobs[-1]
    start, end = last.last_seen_at - DAY, last.last_seen_at + DAY

    named = {
        name
        for finding in recorded.findings
        if finding["rule"] == "restart.loop"
        for name in finding["data"]["lost_taskmanagers"]
    }
    assert named in (by_log, set())
    assert (
        named
        or not any(one["rule"] == "restart.loop" for one in recorded.findings)
        or (not by_log or recorded.name.endswith("lost-file"))
    )

    lives = list(lost(start, last.last_seen_at))
    assert {life.taskmanager_id for life in lives} == by_log and len(lives) == len(by_log)
    hosts = lookup.hosts(last.cluster, start, last.last_seen_at).rows
    assert sum(row.losses for row in hosts) == len(by_log)
    for row in hosts:
        place = (row.host, [row.cluster], start, last.last_seen_at)
        assert lookup.counts_of(*place)["losses"] == row.losses
        of_host = taskmanagers_of(*place).rows
        assert sum(one.lost_at is not None for one in of_host) == row.losses
        own = lost(*place[2:]).filter(host=row.host)
        told = timeline(HostEvent.objects.none(), own, (), (), *place[2:], "taskmanager_lost")
        assert len(told.moments) == row.losses

    by_job = {job.job_id: recent_outages(job, last.last_seen_at) for job in recorded.jobs}
    outages = [dead for of_job in by_job.values() for _, dead in of_job]
    restored = [
        one.lost_taskmanagers
        for job in recorded.jobs
        for one in job_restores(job, last.last_seen_at).observed
    ]
    # Of an outage that never ended no restore is known.
    assert sum(restored) <= sum(outages) <= len(by_log)
    if not recorded.name.endswith("lost-file"):
        assert sum(restored) == len(by_log)

    report = gather(
        checked([JobKey(job.cluster, job.job_id) for job in recorded.jobs], start, end),
        uid="rep_abcdefghijklmnopqrstuvwxyz",
        made_at=end,
        made_by="olga",
    )
    marks = [mark for story in report.stories for mark in story.marks]
    assert len({mark.label for mark in marks if mark.kind == "taskmanager_lost"}) == len(by_log)

    for job in recorded.jobs:
        raw = slots_by_rest(recorded.name, job.job_id)
        found = look_up_resources(job)
        if raw and found:
            assert {
                one.taskmanager_id: one.job_slots[job.job_id] for one in found.taskmanagers
            } == raw
            assert found.slots == sum(raw.values())
            assert job != last or not by_log & set(raw)
    fleet = look_up_fleet(last.last_seen_at)
    listed = [one for one in answers(recorded.name) if one["path"] == "/taskmanagers"]
    assert fleet is not None
    if listed:
        assert fleet.taskmanagers == len(listed[-1]["body"]["taskmanagers"])


@pytest.mark.parametrize("recorded", [*LOSING, *RESTARTING], indirect=True)
def test_restores_of_recovery_are_those_of_starts(recorded: Recorded) -> None:
    for job in recorded.jobs:
        until = max(job.last_seen_at, recorded.jobs[-1].last_seen_at)
        starts = job_starts(job, until=until, shown=1_000).starts
        of_starts = sorted(
            (start.restored.checkpoint_id, start.phase_of["restore"].duration_ms)
            for start in starts
            if start.restored and "restore" in start.phase_of
        )
        of_recovery = sorted(
            (one.checkpoint_id, one.restore_ms) for one in job_restores(job, until).observed
        )
        assert of_recovery == of_starts
        restored = [
            int(matched[1])
            for line in jobmanager_lines(recorded.name)
            if (matched := re.search(rf"Restoring job {job.job_id} from \w+ (\d+) @", line))
        ]
        assert {number for number, _ in of_starts} <= set(restored)


@pytest.mark.parametrize(("recording", "losses"), [("recordings/1.20.5/I", 5)])
def test_without_logs_what_traces_name_and_no_heartbeat_denies_is_lost_on_its_host_too(
    recording: str, losses: int, home: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(
        FIXTURES / recording,
        bare,
        ignore=shutil.ignore_patterns("logs", "ckpt", "sp", "listing*", "conf"),
    )
    lives, findings = served_tables(bare, home, TASKMANAGER_LIFE, FINDING_OCCURRENCE)
    ended = {row["taskmanager_id"] for row in lives if row["ended_by"] == "unreachable"}
    named = {
        name
        for finding in findings
        if finding["rule"] == "restart.loop"
        for name in finding["data"]["lost_taskmanagers"]
    }
    assert ended <= lost_by_log(recording, 1)
    assert len(ended) == losses and named == ended


def test_a_restart_without_a_log_was_down_for_as_long_as_its_start_took(
    home: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    ignored = shutil.ignore_patterns("logs", "ckpt", "sp", "listing*", "conf")
    shutil.copytree(FIXTURES / "recordings/1.20.5/J", bare, ignore=ignored)
    rows = served_tables(bare, home, *LOADED)
    for table, of_table in zip(LOADED, rows, strict=True):
        model = SERVED[table.name].model
        model._default_manager.bulk_create(model(**row) for row in of_table)
    job = JobCurrent.objects.get()
    span = (job.last_seen_at - DAY, job.last_seen_at)
    restarts = {
        start.begun_at: start.total_ms
        for start in job_starts(job, *span).starts
        if start.downtime_ms
    }
    found = outages(job, *span)
    known = {outage.at: outage.downtime_ms for outage in found if outage.downtime_ms is not None}
    assert len(restarts) >= 3 and known == restarts
    assert all(
        sum(ms for name, ms in outage.parts if name != "detect") == outage.downtime_ms
        for outage in found
        if outage.downtime_ms is not None
    )
    totals = outage_totals(job, *span)
    assert totals.count == len(found) and totals.downtime_ms == sum(restarts.values())
