"""Placement over the API."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.placement.job_placement import HostLoad, JobPlacement, Outcome, TaskManagerLoad, VertexSpread
from webapp.placement.lookup import look_up_placement
from webapp.placement.words import verdict


class OutcomeSerializer(serializers.Serializer[Outcome]):
    key = serializers.ChoiceField(("now", "default", "count", "content", "both"))
    tasks = serializers.ListField(child=serializers.IntegerField(), help_text="by TaskManager, fullest first")
    max_over_mean = serializers.FloatField(allow_null=True, help_text="tasks of the fullest TaskManager over the mean")
    concentration = serializers.FloatField(help_text="most subtasks of one vertex on one TaskManager, over their even share")
    concentrated_vertex = serializers.CharField(help_text="the vertex of that figure")
    busy_max = serializers.FloatField(allow_null=True, help_text="busy threads on the busiest TaskManager, by the mean of each vertex")
    busy_max_over_mean = serializers.FloatField(allow_null=True)
    buffers_least = serializers.IntegerField(help_text="network buffers without which tasks fail, on the TaskManager that needs most")
    buffers_most = serializers.IntegerField(help_text="network buffers used under load, on the TaskManager that needs most")
    moved = serializers.IntegerField(allow_null=True, help_text="subtasks that would run on another TaskManager than now")


class TaskManagerSerializer(serializers.Serializer[TaskManagerLoad]):
    taskmanager_id = serializers.CharField()
    host = serializers.CharField(allow_null=True)
    slots = serializers.IntegerField(allow_null=True)
    tasks = serializers.IntegerField()
    busy_cores = serializers.FloatField(allow_null=True)
    buffers_least = serializers.IntegerField()
    buffers_most = serializers.IntegerField()
    buffers = serializers.IntegerField(allow_null=True, help_text="of its network memory")
    buffers_used = serializers.IntegerField(allow_null=True, help_text="of them in use when it was sampled")
    short_by = serializers.IntegerField(help_text="buffers that it lacks to buffers_least")
    restarts = serializers.IntegerField(help_text="tasks that restart when it is lost: those of all failover regions with a task on it")


class HostSerializer(serializers.Serializer[HostLoad]):
    host = serializers.CharField()
    taskmanagers = serializers.IntegerField()
    tasks = serializers.IntegerField()
    restarts = serializers.IntegerField(help_text="tasks that restart when it is lost with all its TaskManagers")


class VertexSerializer(serializers.Serializer[VertexSpread]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    parallelism = serializers.IntegerField()
    taskmanagers = serializers.IntegerField(help_text="that run any of its subtasks")
    most = serializers.IntegerField(help_text="of its subtasks on one TaskManager")
    even = serializers.IntegerField(help_text="even share of a TaskManager, rounded up")
    unknown = serializers.IntegerField(help_text="of its subtasks, at a place that is not known")
    restarts = serializers.IntegerField(help_text="tasks that restart when one of its subtasks fails, at most")


class PlacementSerializer(serializers.Serializer[JobPlacement]):
    """Where the tasks of a job run now, and how even other rules of placement would make it."""

    at = serializers.DateTimeField(allow_null=True, help_text="of the newest sample; null where none is known")
    verdict = serializers.SerializerMethodField()
    tasks = serializers.IntegerField()
    slots_needed = serializers.IntegerField()
    regions = serializers.IntegerField(help_text="failover regions: parts of the job that restart by themselves")
    segment_bytes = serializers.IntegerField(help_text="of one network buffer")
    advice = serializers.CharField()
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")
    outcomes = OutcomeSerializer(many=True)
    taskmanagers = TaskManagerSerializer(many=True)
    hosts = HostSerializer(many=True, help_text="those whose loss restarts most first")
    vertices = VertexSerializer(many=True)

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, placement: JobPlacement) -> str:
        return verdict(placement).sentence


def as_document(placement: JobPlacement) -> dict[str, Any]:
    return dict(PlacementSerializer(placement).data)


class PlacementView(APIView):
    @extend_schema(
        summary="Where the tasks of a job run, and simulated placements",
        operation_id="jobs_placement",
        responses={200: PlacementSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        placement = look_up_placement(job)
        if placement is None:
            raise Http404("The plan of this job is not known.")
        return Response(as_document(placement))
