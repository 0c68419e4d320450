"""Lost and living TaskManagers, restarts and restores of recorded jobs: finding, hosts, resources,
recovery, starts and report tell the same, which is what the raw lines and answers say.
"""

import re
import shutil
from collections import Counter
from collections.abc import Callable
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
from tests.raw_outages import raw_outages, text_of
from tests.webapp.placement.recorded import FIXTURES, answers
from tests.webapp.reports.stories import part, rows
from tests.weir_settings import WeirSettings, below
from webapp.analyses.recovery.job_restores import job_restores, recent_outages
from webapp.analyses.resources.job_resources import look_up_fleet, look_up_resources
from webapp.analyses.starts.job_starts import job_starts
from webapp.checkpoints.outages import outage_totals, outages
from webapp.fleet.models import JobCurrent
from webapp.hosts import lookup
from webapp.hosts.lives import lost
from webapp.hosts.models import HostEvent, TaskManagerLife
from webapp.hosts.taskmanagers import taskmanagers_of
from webapp.hosts.views import timeline
from webapp.lib.instants import epoch_ms
from webapp.lib.scoped_rows import JobKey
from webapp.lib.timeranges import TimeRange
from webapp.pipeline.table_models import SERVED
from webapp.reports.gathering.incident import gather
from webapp.reports.report_scope import checked

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
    FINDING_OCCURRENCE,
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
LOOPING = {*LOSING, *RESTARTING} - {"incidents/1.20.5/slow-restore"}
"""Of which restarts a finding is made."""
DAY = timedelta(days=1)
_LOST = re.compile(
    r"(?:TaskManager with id (\S+?)(?:\(\S+\))? is no longer reachable"
    r"|eartbeat of TaskManager with id (\S+?)(?:\(\S+\))? timed out)"
)


class Recorded(NamedTuple):
    name: str
    jobs: list[JobCurrent]
    named: set[str] | None
    """TaskManagers that findings of restart loops name as lost; None where there is no such
    finding.
    """


@pytest.fixture(scope="module")
def cycles(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], tuple[Path, Any]]:
    """By recording, with or without its logs: the home and the rows that one cycle leaves."""
    kept: dict[tuple[str, bool], tuple[Path, Any]] = {}

    def cycled(recording: str, has_logs: bool) -> tuple[Path, Any]:
        if (recording, has_logs) not in kept:
            home, folder = tmp_path_factory.mktemp("home"), FIXTURES / recording
            if not has_logs:
                bare = home / "bare"
                ignored = shutil.ignore_patterns("logs", "ckpt", "sp", "listing*", "conf")
                folder = shutil.copytree(folder, bare, ignore=ignored)
            kept[recording, has_logs] = home, served_tables(folder, home, *LOADED)
        return kept[recording, has_logs]

    return cycled


@pytest.fixture
def taken_up(
    cycles: Callable[[str, bool], tuple[Path, Any]], weir: WeirSettings
) -> Callable[..., Recorded]:
    cache.clear()

    def take_up(recording: str, has_logs: bool = True) -> Recorded:
        home, rows = cycles(recording, has_logs)
        weir(**below(home))
        by_table = dict(zip((table.name for table in LOADED), rows, strict=True))
        findings = by_table.pop(FINDING_OCCURRENCE.name)
        for name, of_table in by_table.items():
            model = SERVED[name].model
            model._default_manager.bulk_create(model(**row) for row in of_table)
        jobs = list(JobCurrent.objects.order_by("start_time"))
        named = {
            name
            for finding in findings
            if finding["rule"] == "restart.loop"
            for name in finding["data"]["lost_taskmanagers"]
        }
        loops = any(finding["rule"] == "restart.loop" for finding in findings)
        return Recorded(recording, jobs, named if loops else None)

    return take_up


def jobmanager_lines(recording: str) -> list[str]:
    (log,) = (FIXTURES / recording / "logs").glob("*standalonesession*")
    return text_of(log).splitlines()


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


@pytest.mark.parametrize("recording", [*LOSING, *RESTARTING])
def test_lost_and_living_taskmanagers_are_the_same_wherever_they_are_told(
    recording: str, taken_up: Callable[..., Recorded]
) -> None:
    recorded = taken_up(recording)
    by_log = lost_by_log(recorded.name, len(recorded.jobs))
    assert len(by_log) == LOSING.get(recorded.name, 0)
    last = recorded.jobs[-1]
    start, end = last.last_seen_at - DAY, last.last_seen_at + DAY

    assert recorded.named == (by_log if recording in LOOPING else None)

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
        told = timeline(HostEvent.objects.none(), own, TimeRange(*place[2:], "", ""))
        assert len(told["moments"]) == row.losses

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
    marks = [
        row
        for row in rows(part(report, "timeline"), "moments")
        if row["kind"] == "taskmanager_lost"
    ]
    assert len({row["title"] for row in marks}) == len(by_log)

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


@pytest.mark.parametrize("recording", [*LOSING, *RESTARTING])
def test_restores_of_recovery_are_those_of_starts(
    recording: str, taken_up: Callable[..., Recorded]
) -> None:
    recorded = taken_up(recording)
    for job in recorded.jobs:
        until = max(job.last_seen_at, recorded.jobs[-1].last_seen_at)
        starts = job_starts(job, until=until, most=1_000).starts
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


@pytest.mark.parametrize(
    "recording", [one for one in (*LOSING, *RESTARTING) if not one.endswith("lost-file")]
)
def test_restarts_of_starts_are_the_outages_of_the_log(
    recording: str, taken_up: Callable[..., Recorded]
) -> None:
    (job,) = taken_up(recording).jobs
    span = (job.last_seen_at - DAY, job.last_seen_at)
    by_log = [outage.begun_ms for outage in raw_outages(recording.partition("/")[2])]
    ended = [one for one in outages(job, *span) if one.downtime_ms is not None]
    restarts = [one for one in job_starts(job, *span, 1_000).starts if one.kind != "start"][::-1]
    assert [epoch_ms(one.at) for one in ended] == by_log
    assert [epoch_ms(one.begun_at) for one in restarts if one.begun_at] == by_log
    assert [one.restarts for one in restarts] == [one.restarts for one in ended]
    assert [one.restored.checkpoint_id for one in restarts if one.restored] == [
        one.restored_id for one in ended if one.restored_id is not None
    ]
    assert all(one.failure or one.lost_taskmanagers for one in restarts)


def test_without_logs_what_traces_name_and_no_heartbeat_denies_is_lost_on_its_host_too(
    taken_up: Callable[..., Recorded],
) -> None:
    recorded = taken_up("recordings/1.20.5/I", has_logs=False)
    ended = set(
        TaskManagerLife.objects.filter(ended_by="unreachable").values_list(
            "taskmanager_id", flat=True
        )
    )
    assert ended == recorded.named == lost_by_log(recorded.name, len(recorded.jobs))


def test_a_restart_without_a_log_was_down_for_as_long_as_its_start_took(
    taken_up: Callable[..., Recorded],
) -> None:
    (job,) = taken_up("recordings/1.20.5/J", has_logs=False).jobs
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
