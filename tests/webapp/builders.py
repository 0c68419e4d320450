"""Rows for page and API tests: each builder takes what the test is about and fills in the rest."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.accounts.models import User
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.choices import SEVERITY_RANK
from webapp.findings.models import Finding, FindingOccurrence
from webapp.fleet.attempts import link_loaded
from webapp.fleet.families import family
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.fleet.trouble_score import trouble
from webapp.pressure.models import PressureWindow
from webapp.replication.models import Replica

T0 = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
_numbers = itertools.count(1)

GRAPH = {
    "vertices": [
        {"vertex_id": "v1", "name": "Source: clicks", "parallelism": 3, "status": "RUNNING"},
        {"vertex_id": "v2", "name": "parse", "parallelism": 2, "status": "RUNNING"},
        {"vertex_id": "v3", "name": "slow-enrich", "parallelism": 4, "status": "RUNNING"},
        {"vertex_id": "v4", "name": "sink-writer", "parallelism": 2, "status": "RUNNING"},
    ],
    "edges": [
        {"source": "v1", "target": "v2", "ship_strategy": "REBALANCE"},
        {"source": "v2", "target": "v3", "ship_strategy": "HASH"},
        {"source": "v3", "target": "v4", "ship_strategy": "REBALANCE"},
    ],
}

EVIDENCE = [
    {
        "name": "input buffers in use", "value": 0.96, "unit": "ratio",
        "threshold": 0.8, "comparison": ">=", "threshold_key": "pressure.root.in_pool",
    },
    {
        "name": "busy", "value": 986.0, "unit": "ms/s", "threshold": 500, "comparison": ">=",
        "note": "largest of 4 subtasks",
    },
    {"name": "upstream held back", "value": 0.93, "unit": "ratio"},
]  # fmt: skip
RELATED = [
    {"kind": "vertex", "subject": "parse", "note": "held back", "path": ["parse", "slow-enrich"]},
    {
        "kind": "vertex",
        "subject": "Source: clicks",
        "note": "held back",
        "path": ["Source: clicks", "parse", "slow-enrich"],
    },
]


def person(name: str = "vera", *, operator: bool = False) -> User:
    user = User.objects.create_user(name, password="correct horse battery")
    if operator:
        from django.contrib.auth.models import Group

        user.groups.add(Group.objects.get_or_create(name="operator")[0])
    return user


def cluster(name: str = "prod-eu", *, at: datetime, **fields: Any) -> Cluster:
    """A live cluster that answered at ``at``."""
    defaults = {
        "url": "http://127.0.0.1:8081",
        "last_collected_at": at,
        "last_success_at": at,
        "flink_version": "1.20.5",
    }
    return Cluster.objects.create(name=name, **{**defaults, **fields})


def unsaved_job(cluster: str = "prod-eu", *, at: datetime, **fields: Any) -> JobCurrent:
    number = next(_numbers)
    row: dict[str, Any] = {
        "cluster": cluster,
        "job_id": f"{number:032x}",
        "first_attempt_id": fields.get("job_id", f"{number:032x}"),
        "name": f"job {number}",
        "state": "RUNNING",
        "terminal": False,
        "start_time": at - timedelta(hours=76),
        "flink_version": "1.20.5",
        "parallelism": 4,
        "vertex_count": 4,
        "restarts": 0,
        "graph": GRAPH,
        "checkpoint_interval_ms": 60_000,
        "checkpoint_timeout_ms": 600_000,
        "checkpoint_config": {"mode": "exactly_once", "state_backend": "RocksDB"},
        "last_completed_id": 10,
        "last_completed_at": at - timedelta(minutes=1),
        "last_completed_ms": 2_700,
        "recent_outcomes": [
            {"checkpoint_id": n, "outcome": "completed", "is_savepoint": False} for n in range(16)
        ],
        "recent_total": 16,
        "recent_failed": 0,
        "end_to_end_p95_ms": 4_000.0,
        "dominant_phase": "start_delay",
        "dominant_phase_share": 0.78,
        "state_bytes": 8_800_000,
        "checkpointed_bytes": 700_000,
        "pressured_share": 0.1,
        "first_seen_at": at - timedelta(hours=76),
        "last_seen_at": at,
        "as_of": at,
        **fields,
    }
    ended = bool(row["terminal"])
    judged = {
        "health": None if ended else 100,
        "health_state": "ended" if ended else "judged",
        "judged_at": at,
    }
    derived = {"trouble": trouble(row), "family": family(row)}
    return JobCurrent(**{**judged, **derived, **row})


def job(cluster: str = "prod-eu", *, at: datetime, **fields: Any) -> JobCurrent:
    row = unsaved_job(cluster, at=at, **fields)
    row.save()
    link_loaded([{"cluster": row.cluster, "name": row.name, "job_id": row.job_id}])
    row.refresh_from_db(fields=["first_attempt_id", "is_newest_attempt"])
    return row


def unsaved_fact(
    of: JobCurrent, checkpoint_id: int, trigger_time: datetime, **fields: Any
) -> CheckpointFact:
    row: dict[str, Any] = {
        "cluster": of.cluster,
        "job_id": of.job_id,
        "checkpoint_id": checkpoint_id,
        "trigger_time": trigger_time,
        "is_savepoint": False,
        "checkpoint_type": "CHECKPOINT",
        "outcome": "completed",
        "final": True,
        "end_time": trigger_time + timedelta(milliseconds=2_700),
        "end_to_end_ms": 2_700,
        "state_bytes": 7_000_000 + 10_000 * checkpoint_id,
        "checkpointed_bytes": 700_000,
        "subtasks": 11,
        "acknowledged": 11,
        "start_delay_ms": 2_000,
        "alignment_ms": 300,
        "sync_ms": 60,
        "async_ms": 240,
        "slowest_vertex_id": "v3",
        "slowest_vertex_name": "slow-enrich",
        "slowest_subtask": 2,
        "slowest_host": "flink-tm-2",
        "slowest_end_to_end_ms": 2_650,
        "slowest_start_delay_ms": 2_000,
        "slowest_alignment_ms": 300,
        "slowest_sync_ms": 60,
        "slowest_async_ms": 240,
        "dominant_phase": "start_delay",
        "sources": "rest+log",
        "as_of": trigger_time,
        **fields,
    }
    return CheckpointFact(**row)


def fact(
    of: JobCurrent, checkpoint_id: int, trigger_time: datetime, **fields: Any
) -> CheckpointFact:
    row = unsaved_fact(of, checkpoint_id, trigger_time, **fields)
    row.save()
    return row


def expired(
    of: JobCurrent, checkpoint_id: int, trigger_time: datetime, **fields: Any
) -> CheckpointFact:
    """An expiry with who had not acknowledged and one late message."""
    silent = [
        {
            "vertex_id": "v3",
            "vertex_name": "slow-enrich",
            "subtasks": [0, 1, 2],
            "count": 3,
            "hosts": ["flink-tm-1", "flink-tm-2"],
        }
    ]
    late_at = (trigger_time + timedelta(seconds=6)).isoformat()
    late = [
        {
            "vertex_id": "v3",
            "vertex_name": "slow-enrich",
            "subtask": 1,
            "container": "tm-1",
            "host": "h1",
            "at": late_at,
            "late_ms": 1_900,
        }
    ]
    told = {
        "outcome": "expired",
        "reason": "CHECKPOINT_EXPIRED",
        "reason_text": ("Checkpoint expired before completing."),
        "acknowledged": 8,
        "end_to_end_ms": 4_000,
        "state_bytes": None,
        "checkpointed_bytes": None,
        "failure_message": ("Checkpoint expired before completing."),
        "not_acknowledged": silent,
        "late_messages": late,
        "late_message_count": 1,
    }
    return fact(of, checkpoint_id, trigger_time, **{**told, **fields})


def declined(
    of: JobCurrent, checkpoint_id: int, trigger_time: datetime, **fields: Any
) -> CheckpointFact:
    decline = {
        "vertex_id": "v3",
        "vertex_name": "stateful",
        "subtask": 1,
        "attempt": 0,
        "execution_id": "ab_cd_1_0",
        "container": "tm-1",
        "host": "flink-tm-1",
        "at": trigger_time.isoformat(),
        "reason": "CHECKPOINT_ASYNC_EXCEPTION",
        "exception": (
            "org.apache.flink.runtime.checkpoint.CheckpointExceptionOfALongName: could "
            "not flush\n\tat org.example.A.b(A.java:1)"
        ),
        "log_line": "Decline checkpoint 3 by task ab",
    }
    told = {
        "outcome": "declined",
        "reason": "CHECKPOINT_ASYNC_EXCEPTION",
        "acknowledged": 10,
        "declines": [decline],
        "exception": decline["exception"],
    }
    return fact(of, checkpoint_id, trigger_time, **{**told, **fields})


def window(of: JobCurrent, vertex_id: str, at: datetime, **fields: Any) -> PressureWindow:
    names = {vertex["vertex_id"]: vertex["name"] for vertex in GRAPH["vertices"]}
    defaults = {
        "vertex_name": names.get(vertex_id),
        "parallelism": 2,
        "samples": 2,
        "in_pool_p50": 0.5,
        "in_pool_max": 0.7,
        "out_pool_p50": 0.9,
        "out_pool_max": 1.0,
        "busy_ms_per_s_p50": 40.0,
        "busy_ms_per_s_max": 57.0,
        "backpressured_ms_per_s_p50": 940.0,
        "backpressured_share": 1.0,
        "records_in_per_s": 1_600.0,
        "records_out_per_s": 1_590.0,
        "as_of": at,
    }
    return PressureWindow.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        vertex_id=vertex_id,
        window_start=at,
        window_s=60,
        **{**defaults, **fields},
    )


def event(of: JobCurrent, kind: str, at: datetime, message: str = "", **fields: Any) -> LogEvent:
    number = next(_numbers)
    defaults = {
        "level": "INFO",
        "process": "flink-jm.log",
        "record_hash": f"{number:032x}",
        "ordinal": 0,
        "message": message or kind,
        "as_of": at,
    }
    return LogEvent.objects.create(
        cluster=of.cluster, job_id=of.job_id, kind=kind, ts=at, **{**defaults, **fields}
    )


def exception(
    of: JobCurrent, at: datetime, name: str = "java.lang.RuntimeException", **fields: Any
) -> JobException:
    defaults = {
        "task_key": "t",
        "task": "slow-enrich (1/4)",
        "stacktrace": f"{name}: boom\n\tat org.example.A.b(A.java:1)",
        "is_root": True,
    }
    return JobException.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        ts=at,
        exception_name=name,
        as_of=at,
        **{**defaults, **fields},
    )


def annotation(of: JobCurrent, kind: str, at: datetime, label: str, **fields: Any) -> JobAnnotation:
    row = {"subject": label, "label": label, "as_of": at, **fields}
    return JobAnnotation.objects.create(
        cluster=of.cluster, job_id=of.job_id, at=at, kind=kind, **row
    )


def start(of: JobCurrent, at: datetime, **fields: Any) -> JobStart:
    """A restart of 17 s that one task of two held up."""
    slowest = {
        "vertex_id": "v3",
        "name": "slow-enrich",
        "subtask": 0,
        "attempt": 1,
        "host": "flink-tm-1",
        "taskmanager_id": "tm-1",
        "straggles": True,
        "slots_ms": 11,
        "deploy_ms": 125,
        "restore_ms": 15_158,
        "own_ms": 15_283,
    }
    spread = {"tasks": 2} | {
        f"{part}_{stat}_ms": 9
        for part in ("slots", "deploy", "restore", "own")
        for stat in ("median", "max")
    }
    detail = {
        "vertices": [{"vertex_id": "v3", "name": "slow-enrich", **spread}],
        "slowest": [slowest],
        "taskmanagers": [{"taskmanager_id": "tm-1", "host": "flink-tm-1", **spread}],
        "hosts": [{"host": "flink-tm-1", **spread}],
    }
    row = {
        "kind": "restart",
        "begun_at": at - timedelta(seconds=2),
        "deployed_at": at,
        "running_at": at + timedelta(seconds=15),
        "total_ms": 17_000,
        "detect_ms": 54,
        "cancel_ms": 280,
        "wait_ms": 1_720,
        "slots_ms": 28,
        "deploy_ms": 129,
        "restore_ms": 14_843,
        "tasks": 2,
        "taskmanagers": 1,
        "hosts": 1,
        "stragglers": 1,
        "held_up_ms": 14_900,
        "reported_by": "rest",
        "detail": detail,
        "as_of": at,
        **fields,
    }
    return JobStart.objects.create(cluster=of.cluster, job_id=of.job_id, at=at, **row)


def replica(of: JobCurrent, at: datetime) -> Replica:
    """Brought up to date every five minutes, last at ``at``."""
    destination = "s3://elsewhere/copies/clickstream"
    return Replica.objects.create(
        name="copy-1",
        cluster=of.cluster,
        job_id=of.job_id,
        source=f"s3://prod/checkpoints/{of.job_id}",
        destination=destination,
        every_s=300,
        created_at=at - timedelta(hours=1),
        created_name="olga",
        location=f"{destination}/{of.job_id}/chk-25",
        tried_at=at,
        checkpoint_id=25,
        triggered_at=at - timedelta(seconds=40),
        completed_at=at,
        files=4_321,
        bytes=98_765_432_100,
    )


def unsaved_finding(
    of: JobCurrent,
    rule: str = "pressure.root",
    at: datetime = T0,
    *,
    lasted: timedelta = timedelta(minutes=11),
    **fields: Any,
) -> Finding:
    """An open finding last seen at ``at``: slow-enrich back-pressures its job."""
    row: dict[str, Any] = {
        "severity": "critical",
        "confidence": "high",
        "state": "open",
        "subject_kind": "vertex",
        "subject_id": "v3",
        "subject": "slow-enrich",
        "title": "slow-enrich back-pressures the whole job",
        "cause": "Its input is full while its output is almost empty, on all 4 subtasks.",
        "next_step": ("Profile a slow-enrich task thread on flink-tm-2."),
        "evidence": EVIDENCE,
        "related": RELATED,
        "data": {},
        "first_seen": at - lasted,
        "last_seen": at,
        "as_of": at,
        **fields,
    }
    return Finding(
        cluster=of.cluster,
        job_id=of.job_id,
        first_attempt_id=of.first_attempt_id or of.job_id,
        job_name=of.name,
        rule=rule,
        severity_rank=SEVERITY_RANK[row["severity"]],
        **row,
    )


def finding(
    of: JobCurrent, rule: str = "pressure.root", at: datetime = T0, **fields: Any
) -> Finding:
    row = unsaved_finding(of, rule, at, **fields)
    row.save()
    return row


def occurrences(
    of: Finding, every: timedelta = timedelta(minutes=1), value: float = 0.96
) -> list[FindingOccurrence]:
    """One a judged window, from its first to its last occurrence."""
    copied = (
        "cluster",
        "job_id",
        "job_name",
        "rule",
        "severity",
        "confidence",
        "subject_kind",
        "subject_id",
        "subject",
        "title",
        "cause",
    )
    same = {name: getattr(of, name) for name in (*copied, "next_step", "related", "data", "as_of")}
    seen = [
        of.first_seen + every * number
        for number in range(int((of.last_seen - of.first_seen) / every) + 1)
    ]
    evidence = [{**of.evidence[0], "value": value}, *of.evidence[1:]]
    rows = [
        FindingOccurrence(
            window_start=at - every, began_at=at, seen_at=at, evidence=evidence, **same
        )
        for at in seen
    ]
    return FindingOccurrence.objects.bulk_create(rows)
