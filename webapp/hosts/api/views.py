"""Hosts over the API."""

from datetime import datetime, timedelta
from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.serving import (
    HOST_EVENT,
    HOST_EVENT_KINDS,
    JOB_HOST,
    TASKMANAGER_ENDS,
    TASKMANAGER_LIFE,
    TASKMANAGER_LOSSES,
)
from webapp.hosts import lookup
from webapp.hosts.concentration import WORDS, Concentration
from webapp.hosts.documents import host_rows
from webapp.hosts.filters import (
    HostEventFilters,
    HostFilters,
    HostsOfTimeFilters,
    JobHostFilters,
    TaskManagerLifeFilters,
)
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife
from webapp.hosts.ranking import HostRow
from webapp.hosts.taskmanagers import SlowestHere, TaskManagerOnHost, slowest_here, taskmanagers_of
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.api.served import ServedSerializer

PAGE_SIZE = 200
DEFAULT_SPAN = timedelta(days=1)


class HostRowSerializer(serializers.Serializer[HostRow]):
    host = serializers.CharField(
        help_text="as Flink names it; where it names none, the pod or container of the TaskManager"
    )
    cluster = serializers.CharField()
    jobs = serializers.IntegerField(help_text="that run there now")
    subtasks = serializers.IntegerField(help_text="that run there now")
    slots = serializers.IntegerField(help_text="that these take at least")
    declines = serializers.IntegerField(help_text="of checkpoints, in the time")
    expired = serializers.IntegerField(
        help_text="checkpoints of which subtasks there, and few others, had not acknowledged"
    )
    failures = serializers.IntegerField(help_text="root failures of tasks")
    losses = serializers.IntegerField(help_text="lost TaskManagers")
    findings = serializers.IntegerField(help_text="open ones that name it")
    last_at = serializers.DateTimeField(allow_null=True, help_text="of what happened last")


class HostsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField(help_text="hosts that match")
    after = serializers.IntegerField(help_text="how many of them come before these")
    since = serializers.DateTimeField(
        help_text="events were counted from here; later than asked for where they are very many"
    )
    is_cut = serializers.BooleanField(help_text="true: there are more hosts than can be listed")
    hosts = HostRowSerializer(many=True, help_text=f"{PAGE_SIZE} at most")


class HostEventSerializer(ServedSerializer[HostEvent]):
    """Something that happened to one job on one host."""

    kind = serializers.ChoiceField(HOST_EVENT_KINDS)

    class Meta:
        model, table = HostEvent, HOST_EVENT
        exclude = ("id",)


class JobHostSerializer(ServedSerializer[JobHost]):
    """What one job runs on one host, or ran there."""

    class Meta:
        model, table = JobHost, JOB_HOST
        exclude = ("id",)


class TaskManagerLifeSerializer(ServedSerializer[TaskManagerLife]):
    """One life of a TaskManager, and how it ended."""

    ended_by = serializers.ChoiceField(TASKMANAGER_ENDS, allow_null=True)

    class Meta:
        model, table = TaskManagerLife, TASKMANAGER_LIFE
        exclude = ("id",)


class ConcentrationSerializer(serializers.Serializer[Concentration]):
    kind = serializers.ChoiceField(tuple(WORDS))
    here = serializers.IntegerField()
    total = serializers.IntegerField(help_text="of the jobs that ran here, on all hosts")
    expected = serializers.FloatField(
        allow_null=True, help_text="by the host's share of their subtasks; null where it is unknown"
    )
    is_notable = serializers.BooleanField()
    sentence = serializers.CharField()


class HostJobSerializer(serializers.Serializer[lookup.HostJob]):
    cluster = serializers.CharField(source="row.cluster")
    job_id = serializers.CharField(source="row.job_id")
    name = serializers.CharField(source="called", help_text="its id where its name is unknown")
    status = serializers.CharField(source="job.status", default=None, allow_null=True)
    subtasks = serializers.IntegerField(source="row.subtasks")
    first_seen_at = serializers.DateTimeField(source="row.first_seen_at")
    left_at = serializers.DateTimeField(
        source="row.left_at", allow_null=True, help_text="null while it runs there"
    )


class HostFindingSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    rule = serializers.CharField()
    severity = serializers.CharField()
    state = serializers.CharField()
    title = serializers.CharField()
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()


class HostMemoryPartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    configured_bytes = serializers.IntegerField(allow_null=True)
    used_bytes = serializers.IntegerField(allow_null=True)
    state = serializers.CharField(help_text="tight, ok, spare or unknown")


class HostBudgetSerializer(serializers.Serializer[Any]):
    at = serializers.DateTimeField(help_text="of its newest sample")
    slots = serializers.IntegerField(allow_null=True)
    free_slots = serializers.IntegerField(allow_null=True)
    process_bytes = serializers.IntegerField(allow_null=True)
    cpu_used = serializers.FloatField(allow_null=True, help_text="cores")
    gc_ratio = serializers.FloatField(allow_null=True, help_text="of the time, in collections")
    parts = HostMemoryPartSerializer(many=True)


class HostTaskManagerSerializer(serializers.Serializer[TaskManagerOnHost]):
    cluster = serializers.CharField()
    taskmanager_id = serializers.CharField()
    declines = serializers.IntegerField()
    failures = serializers.IntegerField()
    lost_at = serializers.DateTimeField(allow_null=True)
    lost_by = serializers.ChoiceField(TASKMANAGER_LOSSES, allow_null=True)
    budget = HostBudgetSerializer(
        allow_null=True, help_text="null where no sample of it is in the time"
    )


class SlowestHereSerializer(serializers.Serializer[SlowestHere]):
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    here = serializers.IntegerField(
        help_text="completed checkpoints whose slowest subtask was here"
    )
    total = serializers.IntegerField(
        help_text="completed checkpoints whose slowest subtask is known"
    )


class HostDetailSerializer(serializers.Serializer[Any]):
    host = serializers.CharField()
    clusters = serializers.ListField(
        child=serializers.CharField(), help_text="where a host of this name was seen"
    )
    first_seen_at = serializers.DateTimeField(allow_null=True)
    last_seen_at = serializers.DateTimeField(allow_null=True)
    declines = serializers.IntegerField()
    expired = serializers.IntegerField()
    failures = serializers.IntegerField()
    losses = serializers.IntegerField()
    concentrations = ConcentrationSerializer(many=True)
    jobs = HostJobSerializer(many=True, help_text=f"{lookup.MOST_JOBS} at most")
    findings = HostFindingSerializer(many=True, help_text=f"{lookup.MOST_FINDINGS} at most")
    taskmanagers = HostTaskManagerSerializer(many=True)
    taskmanagers_unreadable = serializers.BooleanField(help_text="true: the lake did not answer")
    slowest = SlowestHereSerializer(many=True)


class HostsView(APIView):
    @extend_schema(
        summary=(
            "Hosts, the worst first: what happened on them, what runs there, open findings "
            "that name them"
        ),
        operation_id="hosts_list",
        parameters=described(HostsOfTimeFilters),
        responses={200: HostsSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        asked = given(HostsOfTimeFilters, request)
        hosts, matching = host_rows(asked, *span_of(asked.values))
        after = max(asked.values.get("after") or 0, 0)
        document = {
            "total": len(matching),
            "after": after,
            "since": hosts.since,
            "is_cut": hosts.is_cut,
        }
        return Response(
            HostsSerializer({**document, "hosts": matching[after : after + PAGE_SIZE]}).data
        )


class HostView(APIView):
    @extend_schema(
        summary=(
            "One host: what happened there, by TaskManager and job, and how much of it against "
            "its share of the subtasks"
        ),
        operation_id="hosts_retrieve",
        parameters=described(HostFilters),
        responses={200: HostDetailSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, host: str) -> Response:
        asked = given(HostFilters, request).values
        known = lookup.clusters_of(host)
        clusters = [name for name in known if asked.get("cluster") in (None, name)]
        if not clusters:
            raise Http404
        return Response(as_document(host, clusters, *span_of(asked)))


@listed(
    HostEventSerializer,
    "What happened to jobs on hosts: declines, expired checkpoints, failed tasks",
)
class HostEventViews(ListView):
    filterset_class = HostEventFilters


@listed(TaskManagerLifeSerializer, "TaskManagers: when each lived, and how it ended")
class TaskManagerLifeViews(ListView):
    filterset_class = TaskManagerLifeFilters


@listed(JobHostSerializer, "Which job runs, or ran, on which host")
class JobHostViews(ListView):
    filterset_class = JobHostFilters


def span_of(asked: dict[str, Any]) -> tuple[datetime, datetime]:
    """The last day where nothing is asked for."""
    end = asked.get("to") or timezone.now()
    return asked.get("from") or end - DEFAULT_SPAN, end


def as_document(host: str, clusters: list[str], start: datetime, end: datetime) -> dict[str, Any]:
    """What the page of one host says, for machines."""
    jobs, _ = lookup.jobs_of(host, clusters)
    first, last = lookup.seen(host, clusters, jobs)
    taskmanagers = taskmanagers_of(host, clusters, start, end)
    document = {
        "host": host,
        "clusters": clusters,
        "first_seen_at": first,
        "last_seen_at": last,
        **lookup.counts_of(host, clusters, start, end),
        "concentrations": lookup.concentrations(host, clusters, start, end),
        "jobs": jobs,
        "findings": lookup.findings_of(host, clusters, start, end),
        "taskmanagers": taskmanagers.rows,
        "taskmanagers_unreadable": taskmanagers.unreadable,
        "slowest": slowest_here(host, jobs, start, end),
    }
    return dict(HostDetailSerializer(document).data)
