"""The threads of a job's TaskManagers over the API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.threads.job_threads import DumpedTaskManager, JobThreads, ShownThread, job_threads


class DumpedThreadSerializer(serializers.Serializer[ShownThread]):
    name = serializers.CharField(source="thread.name")
    vertex_id = serializers.CharField(allow_null=True, help_text="null: no task of this job")
    subtask = serializers.IntegerField(allow_null=True, help_text="0-based")
    state = serializers.CharField(source="thread.state", help_text="of the JVM: RUNNABLE, BLOCKED, WAITING, TIMED_WAITING")
    does = serializers.CharField(help_text="in words")
    in_a_row = serializers.IntegerField(help_text="dumps, this one the last, in which it stood at the same place")
    lock = serializers.CharField(source="thread.lock", allow_blank=True)
    owner = serializers.CharField(source="thread.owner", allow_blank=True, help_text="the thread that holds the lock")
    frames = serializers.ListField(source="thread.frames", child=serializers.CharField(), help_text="innermost first")
    is_cut = serializers.BooleanField(source="thread.is_cut", help_text="there are more frames")


class DumpedTaskManagerSerializer(serializers.Serializer[DumpedTaskManager]):
    taskmanager_id = serializers.CharField()
    host = serializers.CharField(allow_null=True)
    tasks = serializers.DictField(child=serializers.ListField(child=serializers.IntegerField()), help_text="vertex id to subtasks, 0-based")
    state = serializers.CharField(source="row.state", allow_null=True, default=None, help_text="of the last request; null: none")
    sentence = serializers.CharField(allow_blank=True)
    taken_at = serializers.DateTimeField(source="row.taken_at", allow_null=True, default=None)
    deadlocks = serializers.ListField(source="row.deadlocks", child=serializers.CharField(), default=list)
    threads = DumpedThreadSerializer(many=True)


class ThreadsSerializer(serializers.Serializer[JobThreads]):
    """The newest thread dump of each TaskManager that runs tasks of the job. Dumps are asked for on its page, or by the command."""

    at = serializers.DateTimeField(allow_null=True, help_text="of the sample that says where tasks run")
    why = serializers.CharField(allow_blank=True, help_text="why nothing is known")
    taskmanagers = serializers.SerializerMethodField()

    @extend_schema_field(DumpedTaskManagerSerializer(many=True))
    def get_taskmanagers(self, found: JobThreads) -> list[dict[str, Any]]:
        return [dict(DumpedTaskManagerSerializer(one).data) for one in found.taskmanagers]


def as_document(job: JobCurrent, vertex_id: str = "") -> dict[str, Any]:
    return dict(ThreadsSerializer(job_threads(job, job.last_seen_at or job.as_of, timezone.now(), vertex_id)).data)


class ThreadsView(APIView):
    @extend_schema(
        summary="What the threads of a job's TaskManagers do, by their newest dumps",
        operation_id="jobs_threads",
        parameters=[OpenApiParameter("vertex", OpenApiTypes.STR, description="id of a vertex: its threads alone")],
        responses={200: ThreadsSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        return Response(as_document(job_or_404(cluster, job_id), request.query_params.get("vertex", "")))
