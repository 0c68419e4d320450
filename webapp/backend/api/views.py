"""The state backend of a job over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.backend.job_backend import FedVertex, Feeder, JobBackend, VertexFigures, job_backend
from webapp.backend.options import NativeMetric, Option
from webapp.backend.words import debloating, switch_on, verdict
from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND


class OptionSerializer(serializers.Serializer[Option]):
    key = serializers.CharField()
    value = serializers.CharField(help_text="as set, else Flink's default")
    is_set = serializers.BooleanField(help_text="in the configuration of the cluster")
    meaning = serializers.CharField()


class NativeMetricSerializer(serializers.Serializer[NativeMetric]):
    key = serializers.CharField()
    is_on = serializers.BooleanField(help_text="in the configuration of the cluster; a job may switch it on by itself")
    meaning = serializers.CharField()


class BackendFiguresSerializer(serializers.Serializer[VertexFigures]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    at = serializers.DateTimeField(help_text="of the newest sample")
    newest = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        help_text="figures as last reported, over all subtasks and states: see lake table vertex_gauges",
    )
    apart_ms = serializers.IntegerField(
        allow_null=True, help_text="of a vertex with two inputs: by how much the watermark of the first is ahead of that of the second"
    )
    samples = serializers.IntegerField(help_text="of the last ten minutes that show stalls or none")
    stalled = serializers.IntegerField(help_text="of them with writes stopped or slowed down")


class FeederSerializer(serializers.Serializer[Feeder]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    sent_watermark_ms = serializers.IntegerField(
        allow_null=True, help_text="epoch, the least of the subtasks; null = none yet, ended or not known"
    )
    behind_ms = serializers.IntegerField(
        allow_null=True, help_text="the one of them that is farthest ahead; null where the distance says nothing of the inputs"
    )


class FedVertexSerializer(serializers.Serializer[FedVertex]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    at = serializers.DateTimeField(help_text="of the newest sample")
    unknown_because = serializers.CharField(
        source="untold",
        allow_null=True,
        help_text="why the distance is unknown: no_watermark (none yet, ended, not known), in_flight, marked_idle; null where it is known",
    )
    feeders = FeederSerializer(many=True)


class BackendSerializer(serializers.Serializer[JobBackend]):
    """The state backend of a job: options, and how RocksDB is by its own metrics."""

    verdict = serializers.SerializerMethodField()
    backend = serializers.CharField(allow_null=True)
    storage = serializers.CharField(allow_null=True, help_text="of checkpoints")
    is_rocksdb = serializers.BooleanField(allow_null=True)
    is_changelog = serializers.BooleanField(allow_null=True)
    options = OptionSerializer(many=True, allow_null=True, help_text="null where the configuration of the cluster is not known")
    native_metrics = NativeMetricSerializer(many=True)
    switch_on = serializers.SerializerMethodField(help_text="lines for the configuration of metrics that are off")
    debloating = serializers.SerializerMethodField(help_text="what is known of the size of buffers, and what to set")
    vertices = BackendFiguresSerializer(many=True, allow_null=True, help_text="with figures; null where they could not be read")
    fed = FedVertexSerializer(
        many=True, help_text="vertices whose release does not report the watermark of each input, by what the vertices before them sent on"
    )

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, found: JobBackend) -> str:
        return verdict(found).word

    @extend_schema_field(serializers.CharField())
    def get_debloating(self, found: JobBackend) -> str:
        return debloating(found)

    @extend_schema_field(serializers.CharField())
    def get_switch_on(self, found: JobBackend) -> str:
        return switch_on(found)


def as_document(job: JobCurrent) -> dict[str, Any]:
    return dict(BackendSerializer(job_backend(job, job.last_seen_at or job.as_of)).data)


class BackendView(APIView):
    @extend_schema(
        summary="State backend of a job, and how RocksDB is by its own metrics",
        operation_id="jobs_backend",
        responses={200: BackendSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        return Response(as_document(job_or_404(cluster, job_id)))
