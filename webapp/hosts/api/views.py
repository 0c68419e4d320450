from rest_framework.serializers import ChoiceField

from spark_jobs.serving import (
    HOST_EVENT,
    HOST_EVENT_KINDS,
    JOB_HOST,
    TASKMANAGER_ENDS,
    TASKMANAGER_LIFE,
)
from webapp.hosts.filters import HostEventFilters, JobHostFilters, TaskManagerLifeFilters
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife
from webapp.lib.api.lists import list_view
from webapp.lib.api.served import serializer_of

HostEventViews = list_view(
    serializer_of(
        HostEvent,
        HOST_EVENT,
        "Something that happened to one job on one host.",
        kind=ChoiceField(HOST_EVENT_KINDS),
    ),
    HostEventFilters,
    "What happened to jobs on hosts: declines, expired checkpoints, failed tasks",
)
TaskManagerLifeViews = list_view(
    serializer_of(
        TaskManagerLife,
        TASKMANAGER_LIFE,
        "One life of a TaskManager, and how it ended.",
        ended_by=ChoiceField(TASKMANAGER_ENDS, allow_null=True),
    ),
    TaskManagerLifeFilters,
    "TaskManagers: when each lived, and how it ended",
)
JobHostViews = list_view(
    serializer_of(JobHost, JOB_HOST, "The subtasks of one job on one host, now or last."),
    JobHostFilters,
    "Which job runs, or ran, on which host",
)
