"""An installation in which every kind of row is there once, so that no door is refused only because
there is nothing behind it.
"""

from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

from django.contrib.auth.models import Group
from django.utils import timezone

from ingest.discovery.pods import Pod
from ingest.messages import message
from ingest.records import AllocatedSlot, Observed, TaskManager
from tests.webapp.analyses.filesystem_calls.builders import metadata_of
from tests.webapp.api.test_lists import everything
from tests.webapp.builders import exception, finding, person, replica
from tests.webapp.cleanup import stored
from tests.webapp.delivery.builders import delivery, endpoint, notice
from tests.webapp.hosts.builders import happened_on
from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import Role
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, RuleSetting, Silence
from webapp.delivery.models import Attempt
from webapp.findings.models import ThresholdOverride
from webapp.findings.store_troubles import RULE as STORE_FAULTS
from webapp.fleet.models import Cluster, JobCurrent
from webapp.growth.models import ObjectiveRecord
from webapp.growth.objectives import set_objective
from webapp.lib.instants import epoch_ms
from webapp.lib.scoped_rows import JobKey
from webapp.profiles.models import ThreadDump, ThreadDumpState
from webapp.push.models import PushToken
from webapp.reports import orders as reports
from webapp.reports import work_keys
from webapp.reports.report_scope import checked
from webapp.site.models import DeclaredRow
from webapp.storage.models import CheckpointStorage
from webapp.storage.statements import StatedSubject, state
from webapp.work.lake import lake
from webapp.work.models import Heartbeat, PipelineAlarm
from webapp.work.perform import perform

MATCHERS = [{"label": "cluster", "operator": "=", "value": "prod-eu"}]
KEY = "pressure.root.backpressured_ratio"


def inhabit(folder: Path) -> JobCurrent:
    """Rows of every model that people or machines can reach; returns the job of which all is
    told.
    """
    now = timezone.now()
    of = everything()
    finding(of, "checkpoint.declined", now)
    replica(of, now)
    DeclaredRow.objects.create(kind="clusters", key="files-eu", file="eu.yaml")
    _store_fails(of, now)
    _bug_shows(of, now)
    CheckpointStorage.objects.update(cluster=of.cluster, job_id=of.job_id)
    an_hour_ago = now - timedelta(hours=1)
    ThreadDump.objects.create(
        cluster=of.cluster,
        taskmanager_id="tm-1",
        wanted_at=an_hour_ago,
        state=ThreadDumpState.TAKEN,
        answered_at=an_hour_ago,
        taken_at=an_hour_ago,
        threads=[
            {
                "name": ("enrich (1/2)#0"),
                "number": 1,
                "state": "RUNNABLE",
                "in_a_row": 1,
                "place": "a.B.c",
            }
        ],
    )
    ended = {"ended": "exitCode=137, reason=OOMKilled", "ended_ms": epoch_ms(an_hour_ago)}
    pod = Pod("flink-tm-1", "taskmanager", address="host-1", waits="Unschedulable", **ended)
    Cluster.objects.filter(name=of.cluster).update(pods=[asdict(pod)])
    happened_on("host-1", of, an_hour_ago)
    evaluate(now)
    muted = {
        "matchers": MATCHERS,
        "reason": "known",
        "author_name": "olga",
        "created_at": now,
        "starts_at": now,
    }
    Silence.objects.create(**muted, ends_at=now + timedelta(hours=1))
    RuleSetting.objects.create(
        rule="checkpoint.declined", severity="critical", author_name="olga", changed_at=now
    )
    ThresholdOverride.objects.create(key=KEY, value=0.7)
    told = delivery(endpoint(), notice(made_at=now), state="dead")
    Attempt.objects.create(delivery=told, number=1, at=now, status=500, latency_ms=3)
    asked = checked([JobKey(of.cluster, of.job_id)], now - timedelta(hours=1), now)
    report = reports.request_report(asked, user=None, name="olga", at=now)
    perform(work_keys.key_of(report.pk), even_if_not_due=True)
    plan = stored.planned(folder)
    state(StatedSubject("excluded", f"{plan.roots[0]}/tables"), "It is prod-eu's table.", "olga")
    lake().append([Observed("", now, "metadata", metadata_of(of.job_id))])
    lake().append([Observed(of.cluster, now, "rest", (_taskmanager(of.job_id, now),))])
    PushToken.objects.issue(some_cluster(), "fluent-bit")
    token_of(somebody(Role.OPERATOR, "robot"), ApiToken.Scope.WRITE)
    promised = {"name": "up", "kind": "availability", "target": "99.9"}
    ObjectiveRecord.objects.create(
        objective=set_objective(promised | {"matchers": f'cluster="{of.cluster}"'}, "olga", now),
        cluster=of.cluster,
        job_id=of.job_id,
        first_attempt_id=of.first_attempt_id,
        job_name=of.name or "",
        as_of=now,
    )
    Heartbeat.objects.update_or_create(name="beat", defaults={"at": now})
    PipelineAlarm.objects.create(code="lake.full", subject="lake", detail="no space", since=now)
    assert Alert.objects.exists()
    return of


def somebody(role: Role | None, name: str = "", *, is_superuser: bool = False) -> User:
    """Signed up in a role; ``None`` is somebody in no group, who is a viewer."""
    user = person(name or f"somebody-{role.group if role else 'new'}")
    user.is_superuser = user.is_staff = is_superuser
    user.save()
    if role is not None:
        user.groups.add(Group.objects.get(name=role.group))
    return user


def token_of(user: User, scope: str) -> str:
    return str(ApiToken.objects.issue(user, f"of {scope}", scope)[1])


def some_cluster() -> Cluster:
    found = Cluster.objects.first()
    assert found is not None
    return found


def _store_fails(of: JobCurrent, at: datetime) -> None:
    """The bucket of a job's checkpoints."""
    store, fault = f"s3://{of.cluster}-lake", "STORE_THROTTLED"
    finding(
        of,
        STORE_FAULTS,
        at,
        subject_kind="store",
        subject_id=f"{store} {fault}",
        subject=store,
        title=message("{store:name} throttles requests (503 or 429)", store=store),
        data={
            "store": store,
            "fault": fault,
            "prefixes": [f"{of.cluster}/ck"],
            "counts": {"checkpoint": 2},
            "is_assumed": True,
        },
    )


def _bug_shows(of: JobCurrent, at: datetime) -> None:
    """FLINK-28695, by its release and its stack trace."""
    JobCurrent.objects.filter(pk=of.pk).update(flink_version="1.15.0")
    trace = "Sending the partition request to 'tm/10.0.0.1:1' failed."
    exception(of, at, stacktrace=trace, task_key="slow-enrich")
    finding(of, "restart.loop", at)


def _taskmanager(job_id: str, at: datetime) -> TaskManager:
    """Both of its slots are the job's."""
    slots = (AllocatedSlot(job_id, 1.0),) * 2
    return TaskManager(
        "tm-1",
        "host-1",
        at,
        slots=2,
        free_slots=0,
        process_memory_bytes=1 << 30,
        heap_max_bytes=1 << 28,
        allocated_slots=slots,
    )
