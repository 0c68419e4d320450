"""Hosts with what runs and happens there."""

from datetime import datetime
from typing import Any
from uuid import uuid4

from ingest.messages import message
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from tests.webapp.builders import annotation
from webapp.findings.models import Finding, FindingHost
from webapp.fleet.models import JobCurrent
from webapp.hosts import days, loads
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife


def runs_on(
    host: str, of: JobCurrent, at: datetime, subtasks: int = 4, left_at: datetime | None = None
) -> JobHost:
    row = JobHost.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        host=host,
        subtasks=subtasks,
        slots=1,
        vertices=4,
        first_seen_at=at,
        left_at=left_at,
        as_of=at,
    )
    loads.sum_again([(of.cluster, host)])
    return row


def host_event(
    host: str, of: JobCurrent, kind: str, at: datetime, subject: str = "enrich/1", **fields: Any
) -> HostEvent:
    row = HostEvent.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        host=host,
        at=at,
        kind=kind,
        subject=subject,
        as_of=at,
        **fields,
    )
    days.sum_again([(of.cluster, host, days.day_of(at))])
    return row


def taskmanager(
    name: str, host: str, at: datetime, *jobs: JobCurrent, cluster: str = "prod-eu", **fields: Any
) -> TaskManagerLife:
    """One that lives since then, or with ``ended_by`` ended then; ``jobs`` lost it."""
    fields.setdefault("born_at", at)
    if "ended_by" in fields:
        fields.setdefault("ended_at", at)
    of_each = {"cluster": cluster, "taskmanager_id": name, "life": 0, "host": host, "as_of": at}
    row = TaskManagerLife.objects.create(**of_each | fields)
    for of in jobs:
        annotation(
            of,
            TASKMANAGER_LOST,
            at.replace(microsecond=0),
            message("TaskManager {name:name} lost", name=name),
            subject=name,
        )
    return row


def lost(
    name: str, host: str, at: datetime, *jobs: JobCurrent, ended_by: str = "heartbeat_timeout"
) -> TaskManagerLife:
    return taskmanager(name, host, at, *jobs, cluster=jobs[0].cluster, ended_by=ended_by)


def names(finding: Finding, host: str) -> FindingHost:
    return FindingHost.objects.create(finding=finding, cluster=finding.cluster, host=host)


def happened_on(host: str, of: JobCurrent, at: datetime) -> None:
    """A job that runs there, one of each kind of event, and a finding that names it."""
    runs_on(host, of, at)
    at_checkpoint = {"checkpoint_id": 1, "trigger_time": at, "vertex_name": "enrich"}
    host_event(
        host,
        of,
        "decline",
        at,
        "checkpoint 1, enrich/1",
        subtask=1,
        detail="CHECKPOINT_ASYNC_EXCEPTION",
        **at_checkpoint,
    )
    host_event(host, of, "expired", at, "checkpoint 1", **at_checkpoint)
    host_event(
        host,
        of,
        "failure",
        at,
        "enrich (2/4)",
        taskmanager_id="tm-1",
        detail="java.lang.OutOfMemoryError",
    )
    lost(f"tm-{uuid4().hex[:8]}", host, at, of)
    for found in Finding.objects.filter(cluster=of.cluster, job_id=of.job_id)[:1]:
        names(found, host)
