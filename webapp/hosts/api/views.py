from rest_framework import serializers

from spark_jobs.serving import (
    HOST_EVENT,
    HOST_EVENT_KINDS,
    JOB_HOST,
    TASKMANAGER_ENDS,
    TASKMANAGER_LIFE,
)
from webapp.hosts.filters import HostEventFilters, JobHostFilters, TaskManagerLifeFilters
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.served import ServedSerializer


class HostEventSerializer(ServedSerializer[HostEvent]):
    """Something that happened to one job on one host."""

    kind = serializers.ChoiceField(HOST_EVENT_KINDS)

    class Meta:
        model, table = HostEvent, HOST_EVENT
        exclude = ("id",)


class JobHostSerializer(ServedSerializer[JobHost]):
    """The subtasks of one job on one host, now or last."""

    class Meta:
        model, table = JobHost, JOB_HOST
        exclude = ("id",)


class TaskManagerLifeSerializer(ServedSerializer[TaskManagerLife]):
    """One life of a TaskManager, and how it ended."""

    ended_by = serializers.ChoiceField(TASKMANAGER_ENDS, allow_null=True)

    class Meta:
        model, table = TaskManagerLife, TASKMANAGER_LIFE
        exclude = ("id",)


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
