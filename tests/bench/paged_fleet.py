"""A fleet in the database as a month leaves it: jobs on hosts, what was found of them and what it
became, their storage and its growth.

Every row is made by its number, so that two fleets of one size are alike, and so that what is rare
is there: hosts on which much happened, jobs that ended, clusters that nobody sees.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from tests.webapp.builders import (
    annotation,
    cluster,
    finding,
    job,
    unsaved_fact,
    unsaved_finding,
    unsaved_job,
    window,
)
from tests.webapp.storage.builders import COUNTS, MERGED, audit, root, root_figures, verdict_figures
from webapp.alerting.choices import AlertState
from webapp.alerting.models import Alert, AlertGroup
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup
from webapp.findings.choices import SEVERITY_RANK, FindingState
from webapp.findings.models import Finding, FindingHost
from webapp.fleet.models import JobCurrent
from webapp.growth.models import JobGrowth, Objective, ObjectiveRecord, StoredDay
from webapp.growth.trends import WINDOWS
from webapp.hosts import days, loads
from webapp.hosts.models import HostEvent, JobHost
from webapp.incidents.choices import IncidentState
from webapp.incidents.models import Incident, IncidentMember
from webapp.pressure.models import PressureWindow
from webapp.storage.models import CheckpointStorage, JobStorage

ROWS_AT_ONCE = 5_000
RULES = (
    "pressure.root",
    "checkpoint.declined",
    "checkpoint.expired",
    "checkpoint.stalled",
    "taskmanager.lost",
)
KINDS = ("decline", "decline", "expired", "failure")
HOSTS_OF_A_JOB, BUSY_HOSTS, LAGGING = 4, 50, 5_000


@dataclass(frozen=True)
class Size:
    """``host_events``, ``closed``: over all days; a tenth of what happened was on fifty hosts. Jobs
    and hosts are multiples of the clusters, each of which has at least four hosts.
    """

    jobs: int = 50_000
    clusters: int = 20
    days: int = 30
    hosts: int = 5_000
    host_events: int = 200_000
    closed: int = 60_000
    checkpoints_a_day: int = 24 * 60

    @property
    def busiest_host(self) -> str:
        return host_name(0)


def fill(size: Size, now: datetime) -> JobCurrent:
    """All of it; returns the job whose checkpoints are all there."""
    jobs = fill_jobs(size, now)
    fill_hosts(size, jobs, now)
    fill_alerts(size, jobs, now)
    fill_growth(size, jobs, now)
    fill_storage(size, jobs, now)
    fill_objectives(jobs, now)
    one = fill_checkpoints(size, now)
    fill_lags(jobs)
    return one


def host_name(number: int) -> str:
    return f"ip-10-{number // 250}-{number % 250}.eu.example"


def cluster_name(number: int) -> str:
    return f"cluster-{number}"


def root_uri(number: int) -> str:
    return f"s3://checkpoints-{number}/flink"


def fill_jobs(size: Size, now: datetime) -> list[JobCurrent]:
    for number in range(size.clusters):
        seen = {} if number % 50 else {"unreachable_since": now}
        cluster(
            cluster_name(number),
            at=now,
            labels={"team": f"team-{number % 7}", "env": "prod" if number % 3 else "test"},
            **seen,
        )
    rows = [
        unsaved_job(
            cluster_name(number % size.clusters),
            at=now,
            name=f"team-{number % 97}-job-{number}",
            state="FAILED"
            if number % 1_000 == 7
            else "FINISHED"
            if number % 10 == 3
            else "RUNNING",
            terminal=_has_ended(number),
            recent_failed=number % 17 if number % 20 == 0 else 0,
            state_bytes=None if number % 9 == 0 else number * 7_919 % 10**12,
            restarts=number % 13,
            pressured_share=number % 100 / 100,
            burn=_burn(number),
            burn_over_min=60,
            **_health(number),
        )
        for number in range(size.jobs)
    ]
    _create(JobCurrent, rows)
    return rows


def _has_ended(number: int) -> bool:
    return number % 1_000 == 7 or number % 10 == 3


def _burn(number: int) -> float | None:
    if _has_ended(number):
        return None
    return 2.0 if number % 20 == 0 else number % 100 / 100


def _health(number: int) -> dict[str, Any]:
    """One job in twenty is ill, one in fifty cannot be judged."""
    if _has_ended(number):
        return {}
    if number % 50 == 1:
        return {"health": None, "health_state": "unknown"}
    return {"health": number % 100} if number % 20 == 0 else {}


def fill_objectives(jobs: Sequence[JobCurrent], now: datetime) -> None:
    """Two of every job that runs, one in twenty of which burns them."""
    kinds = [
        Objective.objects.create(name=kind, kind=kind, target=0.999, set_at=now)
        for kind in ("availability", "checkpoints")
    ]
    _create(
        ObjectiveRecord,
        (
            ObjectiveRecord(
                objective=kind,
                cluster=of.cluster,
                job_id=of.job_id,
                first_attempt_id=of.first_attempt_id or of.job_id,
                job_name=of.name,
                burn=of.burn,
                burn_over_min=60,
                budget_left=1 - number % 120 / 100,
                is_good=True,
                as_of=now,
            )
            for number, of in enumerate(jobs)
            if not of.terminal
            for kind in kinds
        ),
    )


def fill_lags(jobs: Sequence[JobCurrent]) -> None:
    """Of two sources of 5,000 jobs in the minute that runs, for who asks within the next."""
    at = timezone.now()
    _create(
        PressureWindow,
        (
            PressureWindow(
                cluster=of.cluster,
                job_id=of.job_id,
                vertex_id=f"source-{turn}",
                window_start=at,
                window_s=60,
                samples=2,
                pending_records=number * 31.0,
                emit_lag_ms=number * 7.0,
                as_of=at,
            )
            for number, of in enumerate(
                itertools.islice((of for of in jobs if not of.terminal), LAGGING)
            )
            for turn in range(2)
        ),
    )


def fill_hosts(size: Size, jobs: Sequence[JobCurrent], now: datetime) -> None:
    """Hosts are of one cluster each, and its jobs run on them in turn."""
    of_a_cluster = size.hosts // size.clusters

    def host_of(number: int, turn: int) -> str:
        return host_name(
            number % size.clusters
            + (number // size.clusters * HOSTS_OF_A_JOB + turn) % of_a_cluster * size.clusters
        )

    _create(
        JobHost,
        (
            JobHost(
                cluster=of.cluster,
                job_id=of.job_id,
                host=host_of(number, turn),
                subtasks=1 + number % 8,
                slots=1 + number % 3,
                vertices=4,
                first_seen_at=now - timedelta(days=number % size.days),
                left_at=now - timedelta(hours=number % 700) if of.terminal else None,
                as_of=now,
            )
            for number, of in enumerate(jobs)
            for turn in range(HOSTS_OF_A_JOB)
        ),
    )
    loads.sum_again(
        (cluster_name(number % size.clusters), host_name(number)) for number in range(size.hosts)
    )
    every = timedelta(days=size.days) / size.host_events
    _create(
        HostEvent,
        (
            _happened(size, jobs, number, host_of, now - every * number)
            for number in range(size.host_events)
        ),
    )
    days.sum_again(days.places_of(HostEvent.objects.all()))


def _happened(
    size: Size, jobs: Sequence[JobCurrent], number: int, host_of: Any, at: datetime
) -> HostEvent:
    job_number = number * 7_919 % len(jobs)
    host = host_of(job_number, number % HOSTS_OF_A_JOB)
    if number % 10 == 0:
        busy = number // 10 % BUSY_HOSTS * 101 % size.hosts
        host = host_name(busy)
        job_number = busy % size.clusters + number // 500 % 20 * size.clusters % (
            len(jobs) - size.clusters + 1
        )
    of, kind = jobs[job_number], KINDS[number % len(KINDS)]
    return HostEvent(
        cluster=of.cluster,
        job_id=of.job_id,
        host=host,
        at=at,
        kind=kind,
        subject=(f"checkpoint {number}, enrich/{number % 8}"),
        taskmanager_id=f"{host}:6122-{number % 3}",
        vertex_name="enrich",
        subtask=number % 8,
        checkpoint_id=number,
        trigger_time=at,
        detail="CHECKPOINT_ASYNC_EXCEPTION",
        as_of=at,
    )


def fill_alerts(size: Size, jobs: Sequence[JobCurrent], now: datetime) -> None:
    """Findings that are open and that were, the hosts they name, their alerts and incidents."""
    every, of_a_cluster = timedelta(days=size.days) / size.closed, size.hosts // size.clusters
    ill = [of for of in jobs if (of.health or 100) < 100]
    found = [
        unsaved_finding(
            of,
            RULES[turn],
            now - timedelta(seconds=number % 50),
            subject_id=str(turn),
            severity=_severity(number + turn),
        )
        for number, of in enumerate(ill)
        for turn in range(3)
    ]
    for number in range(size.closed):
        ended = now - every * number - timedelta(hours=1)
        found.append(
            unsaved_finding(
                jobs[number * 31 % len(jobs)],
                RULES[number % len(RULES)],
                ended,
                subject_id=f"then-{number}",
                severity=_severity(number),
                state=FindingState.CLOSED,
                closed_at=ended + timedelta(minutes=5),
                to_alert=False,
            )
        )
    _create(Finding, found)
    _create(
        FindingHost,
        (
            FindingHost(
                finding=one,
                cluster=one.cluster,
                host=host_name(_number(one.cluster) + number % of_a_cluster * size.clusters),
            )
            for number, one in enumerate(found)
        ),
    )
    families = {rule.partition(".")[0] for rule in RULES}
    groups = {
        (name, family): AlertGroup(cluster=name, family=family)
        for name in _cluster_names(size)
        for family in families
    }
    _create(AlertGroup, groups.values())
    incidents = [_incident(one) for one in found[::3]]
    _create(Incident, incidents)
    _create(
        IncidentMember,
        (
            IncidentMember(incident=incidents[number // 3], finding=one)
            for number, one in enumerate(found)
        ),
    )
    _create(
        Alert,
        (
            _alert(
                number, one, groups[one.cluster, one.rule.partition(".")[0]], incidents[number // 3]
            )
            for number, one in enumerate(found)
            if one.severity != "info"
        ),
    )


def _severity(number: int) -> str:
    return ("critical", "warning", "warning", "info")[number % 4]


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _cluster_names(size: Size) -> Iterator[str]:
    return map(cluster_name, range(size.clusters))


def _incident(cause: Finding) -> Incident:
    return Incident(
        cluster=cause.cluster,
        job_id=cause.job_id,
        job_name=cause.job_name,
        rule=cause.rule,
        cause=cause,
        title=cause.title,
        severity="critical",
        severity_rank=SEVERITY_RANK["critical"],
        finding_count=3,
        job_count=1,
        began_at=cause.first_seen,
        last_seen=cause.last_seen,
        created_at=cause.first_seen,
        ended_at=cause.closed_at,
        state=IncidentState.OPEN if cause.state == FindingState.OPEN else IncidentState.CLOSED,
    )


def _alert(number: int, of: Finding, group: AlertGroup, incident: Incident) -> Alert:
    is_open = of.state == FindingState.OPEN
    acknowledged = (
        {"acknowledged_at": of.last_seen, "acknowledged_name": "vera"} if number % 5 == 0 else {}
    )
    return Alert(
        cluster=of.cluster,
        job_id=of.job_id,
        first_attempt_id=of.job_id,
        job_name=of.job_name,
        rule=of.rule,
        subject_id=of.subject_id,
        finding=of,
        group=group,
        incident=incident,
        subject_kind=of.subject_kind,
        subject=of.subject,
        severity=of.severity,
        severity_rank=of.severity_rank,
        confidence=of.confidence,
        title=of.title,
        cause=of.cause,
        next_step=of.next_step,
        evidence=of.evidence,
        state=(AlertState.PENDING if number % 11 == 0 else AlertState.FIRING)
        if is_open
        else AlertState.RESOLVED,
        starts_at=of.first_seen,
        ends_at=of.closed_at,
        episode_at=of.first_seen,
        fired_at=of.first_seen,
        resolved_at=of.closed_at,
        firings=1,
        created_at=of.first_seen,
        muted_by="silence" if number % 17 == 0 else "",
        **acknowledged,
    )


def fill_growth(size: Size, jobs: Sequence[JobCurrent], now: datetime) -> None:
    today = now.astimezone(UTC).date()
    ago = [today - timedelta(days=day) for day in range(size.days)]
    _create(
        StoredDay,
        (
            StoredDay(
                cluster=of.cluster,
                job_id=of.job_id,
                day=day,
                stored_bytes=2 * number * 10**6,
                unreferenced_bytes=number * 10**4,
                as_of=now,
            )
            for number, of in enumerate(jobs)
            for day in ago
        ),
    )
    none = (
        "declined",
        "expired",
        "subsumed",
        "aborted",
        "failed",
        "preflight",
        "in_progress",
        "savepoint",
    )
    counts = {f"{name}_count": 0 for name in none}
    _create(
        CheckpointRollup,
        (
            CheckpointRollup(
                cluster=of.cluster,
                job_id=of.job_id,
                period="day",
                period_start=datetime.combine(day, time(), UTC),
                completed_count=1_440,
                **counts,
                end_to_end_p95_ms=2_700.0,
                state_bytes_last=(number + 1) * 10**6,
                checkpointed_bytes_sum=number * 10**5,
                as_of=now,
            )
            for number, of in enumerate(jobs)
            for day in ago
        ),
    )
    _create(
        JobGrowth,
        (_growth(number, of, days, now) for number, of in enumerate(jobs) for days in WINDOWS),
    )


def _growth(number: int, of: JobCurrent, days: int, now: datetime) -> JobGrowth:
    known = (
        {}
        if number % 9 == 0
        else {
            "state_bytes": number * 7_919 % 10**12,
            "state_bytes_per_day": (number * 31 % 2_000 - 300) * 10**6,
            "state_bytes_per_day_low": 0.0,
            "state_bytes_per_day_high": 10.0**9,
            "uploaded_bytes": number * 101 % 10**11,
            "unreferenced_bytes": number * 13 % 10**9,
            "stored_bytes": number * 23 % 10**12,
            "days_to_timeout": None if number % 4 else number % 900 / 3,
        }
    )
    return JobGrowth(
        cluster=of.cluster,
        job_id=of.job_id,
        name=of.name,
        attempts=[of.job_id],
        ended=of.terminal,
        window_days=days,
        known_days=days,
        timeout_ms=600_000,
        as_of=now,
        **known,
    )


def fill_storage(size: Size, jobs: Sequence[JobCurrent], now: datetime) -> None:
    """Two roots a cluster, audited daily; of jobs and checkpoints the last two audits are kept.

    All jobs of a cluster are in one root.
    """
    uris = [root_uri(number) for number in range(2 * size.clusters)]
    for uri in uris:
        root(uri)
    for day in reversed(range(size.days)):
        of = audit(f"storage-{size.days - day}", as_of=now - timedelta(days=day), roots=uris)
        for number, uri in enumerate(uris):
            root_figures(of, uri, bytes=(number + 1) * 10**12, live_bytes=(number + 1) * 9 * 10**11)
            for reason in ("unreferenced", "ended", "unknown", "recent"):
                verdict_figures(of, uri, reason=reason)
        if day < 2:
            _create(
                JobStorage, (_stored(of.audit_id, number, one) for number, one in enumerate(jobs))
            )
            _create(
                CheckpointStorage,
                (_checkpoint(of.audit_id, number, one) for number, one in enumerate(jobs)),
            )


def _stored(audit_id: str, number: int, of: JobCurrent) -> JobStorage:
    told = {
        **COUNTS,
        "live_bytes": number * 10**5,
        "orphan_bytes": number * 37 % 10**6,
        "retained_waste_bytes": number * 41 % 10**6,
    }
    return JobStorage(
        audit_id=audit_id,
        directory=f"{root_uri(_number(of.cluster))}/{of.job_id}",
        root=root_uri(_number(of.cluster)),
        cluster=of.cluster,
        job_id=of.job_id,
        job_name=of.name,
        terminal=of.terminal,
        files=100,
        bytes=number * 2 * 10**5,
        small_files=number % 90,
        foreign_files=number % 7,
        foreign_bytes=number % 7 * 10**4,
        checkpoints=2,
        newest_checkpoint_id=7,
        **told,
        **MERGED,
    )


def _checkpoint(audit_id: str, number: int, of: JobCurrent) -> CheckpointStorage:
    uri = root_uri(_number(of.cluster))
    return CheckpointStorage(
        audit_id=audit_id,
        root=uri,
        cluster=of.cluster,
        job_id=of.job_id,
        metadata_path=f"{uri}/{of.job_id}/chk-7/_metadata",
        checkpoint_id=7,
        is_savepoint=False,
        files=4,
        bytes=number * 10**5,
        inline_bytes=0,
        foreign_files=0,
        foreign_bytes=0,
        missing_files=0,
        missing_bytes=0,
        self_contained=True,
        relocatable=False,
        resolvable=True,
        verdict="live",
        **MERGED,
    )


def fill_checkpoints(size: Size, now: datetime) -> JobCurrent:
    """One more job, with every checkpoint of all days, an hourly restart in the last week, and
    findings of two days.
    """
    of = job(cluster_name(1), at=now, name="a month of checkpoints")
    minutes = size.days * size.checkpoints_a_day
    for hour in range(min(7 * 24, minutes)):
        annotation(of, "restart", now - timedelta(hours=hour), f"restart {hour}")
    apart = timedelta(days=1) / size.checkpoints_a_day
    _create(
        CheckpointFact,
        (
            unsaved_fact(
                of,
                n,
                now - apart * (minutes - n),
                outcome="expired" if n % 50 == 0 else "completed",
            )
            for n in range(minutes)
        ),
    )
    for hour in range(48):
        finding(of, at=now - timedelta(hours=hour), state="open" if not hour else "closed")
    for vertex_id in ("v1", "v2", "v3", "v4"):
        window(of, vertex_id, now - timedelta(minutes=1))
    return of


def _create(model: type[Model], rows: Iterable[Any]) -> None:
    """Without holding all of them, where nobody else does."""
    waiting = iter(rows)
    while part := list(itertools.islice(waiting, ROWS_AT_ONCE)):
        model._default_manager.bulk_create(part)
