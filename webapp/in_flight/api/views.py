"""Data in flight of a job over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.placement.in_flight import VertexBuffers
from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.in_flight.job_in_flight import JobInFlight, Persisted, job_in_flight
from webapp.in_flight.words import advice, sentence
from webapp.lib.api.lists import ERRORS, NOT_FOUND


class VertexBuffersSerializer(serializers.Serializer[VertexBuffers]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    parallelism = serializers.IntegerField()
    inputs = serializers.IntegerField(help_text="buffers before it at most, over all subtasks")
    outputs = serializers.IntegerField(help_text="buffers behind it at most")


class PersistedSerializer(serializers.Serializer[Persisted]):
    checkpoint_id = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="of its trigger")
    unaligned = serializers.BooleanField(allow_null=True)
    bytes = serializers.IntegerField(allow_null=True, help_text="in-flight data persisted; null: not reported")
    written_bytes = serializers.IntegerField(allow_null=True, help_text="all that it wrote")
    alignment_ms = serializers.IntegerField(allow_null=True)


class InFlightSerializer(serializers.Serializer[JobInFlight]):
    """What can be in flight between a job's tasks, and what its newest checkpoints persisted of it; null is unknown."""

    sentence = serializers.SerializerMethodField()
    segment_bytes = serializers.IntegerField(help_text="size of a buffer")
    buffers_per_channel = serializers.IntegerField()
    floating_per_gate = serializers.IntegerField()
    overdraft_per_partition = serializers.IntegerField(help_text="0 before 1.16")
    buffers = serializers.IntegerField(allow_null=True, help_text="at most, over all tasks")
    most_bytes = serializers.IntegerField(allow_null=True, help_text="all of them full")
    persisted_bytes = serializers.IntegerField(allow_null=True, help_text="by a checkpoint, the most of the newest")
    written_share = serializers.FloatField(allow_null=True, help_text="in-flight data of all that unaligned checkpoints wrote")
    debloats = serializers.BooleanField(allow_null=True, help_text="as the cluster is configured")
    unaligned = serializers.BooleanField(allow_null=True)
    vertices = VertexBuffersSerializer(many=True, allow_null=True)
    checkpoints = PersistedSerializer(many=True, help_text="the newest completed ones, newest first")
    advice = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField())
    def get_sentence(self, found: JobInFlight) -> str:
        return sentence(found)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_advice(self, found: JobInFlight) -> list[str]:
        return advice(found)


def as_document(job: JobCurrent) -> dict[str, Any]:
    return dict(InFlightSerializer(job_in_flight(job, job.last_seen_at or job.as_of)).data)


class InFlightView(APIView):
    @extend_schema(
        summary="Data in flight between the tasks of a job: how much can be, and how much checkpoints persisted",
        operation_id="jobs_in_flight",
        responses={200: InFlightSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        return Response(as_document(job_or_404(cluster, job_id)))
