"""Calls of all jobs to their file systems over the API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.filesystem_calls.audit_logs import AuditedCalls, Caller, JobSeen, Observed
from webapp.filesystem_calls.fleet_calls import MOST_MORE, FileSystemCalls, FleetCalls, JobMove, Together, look_up_fleet_calls
from webapp.filesystem_calls.namenodes import NameNode, NameNodes
from webapp.lib.api.lists import ERRORS


class TogetherSerializer(serializers.Serializer[Together]):
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    name = serializers.CharField()
    calls = serializers.FloatField(help_text="in the worst second")


class FileSystemCallsSerializer(serializers.Serializer[FileSystemCalls]):
    file_system = serializers.CharField(help_text="scheme and authority; empty where unknown")
    jobs = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="of them those whose files no audit counted; they are left out")
    per_s = serializers.FloatField(help_text="calls a second over time")
    peak = serializers.FloatField(help_text="calls in the worst second")
    peak_at = serializers.DateTimeField(allow_null=True)
    together = TogetherSerializer(many=True, help_text="jobs at work in it, most calls first")
    steady_peak = serializers.FloatField(help_text="of the jobs that keep a pace")
    staggered_peak = serializers.FloatField(help_text="of them, if each began at the second that suits best")
    seconds = serializers.ListField(child=serializers.FloatField(), help_text="calls of each second from start")


class JobMoveSerializer(serializers.Serializer[JobMove]):
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    name = serializers.CharField()
    per_s = serializers.FloatField(help_text="calls a second over time")
    source_file_system = serializers.CharField()
    target_file_system = serializers.CharField()
    setting = serializers.CharField(help_text="what to set")


class CallerSerializer(serializers.Serializer[Caller]):
    user = serializers.CharField()
    address = serializers.CharField()
    calls = serializers.IntegerField()
    peak = serializers.IntegerField(help_text="calls in its own worst second")
    in_peak = serializers.IntegerField(help_text="calls in the worst second of all")


class JobSeenSerializer(serializers.Serializer[JobSeen]):
    cluster = serializers.CharField(help_text="empty for a job that is not known")
    job_id = serializers.CharField()
    name = serializers.CharField()
    calls = serializers.IntegerField()
    per_s = serializers.FloatField()
    expected_per_s = serializers.FloatField(allow_null=True, help_text="of the kinds that an audit log has; null where not known")


class AuditedCallsSerializer(serializers.Serializer[AuditedCalls]):
    cluster = serializers.CharField(help_text="on which the audit logs are declared")
    since = serializers.DateTimeField(help_text="from when on they were read: later than start where they are large")
    calls = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="not allowed, or of what is not there")
    no_job = serializers.IntegerField(help_text="calls whose path names no job")
    peak = serializers.IntegerField(help_text="calls in the worst second")
    peak_at = serializers.DateTimeField(allow_null=True)
    kinds = serializers.DictField(child=serializers.IntegerField(), help_text="calls by what the log names them")
    callers = CallerSerializer(many=True, help_text="most calls first")
    jobs = JobSeenSerializer(many=True, help_text="most calls first")
    seconds = serializers.ListField(child=serializers.IntegerField(), help_text="calls of each second from start")


class AuditLogsSerializer(serializers.Serializer[Observed]):
    """What audit logs of NameNodes have of the same minutes."""

    logs = AuditedCallsSerializer(many=True)
    silent = serializers.ListField(child=serializers.CharField(), help_text="clusters whose audit logs have nothing of these minutes")
    why = serializers.CharField(help_text="what hinders; empty where nothing does")


class NameNodeSerializer(serializers.Serializer[NameNode]):
    """Null is unknown."""

    cluster = serializers.CharField(help_text="on which it is declared")
    at = serializers.DateTimeField(help_text="of the newest sample, whose figures these are")
    samples = serializers.IntegerField()
    ha_state = serializers.CharField(allow_null=True, help_text="active, standby or observer")
    queue_ms = serializers.FloatField(allow_null=True, help_text="mean wait of a call in the queue")
    most_queue_ms = serializers.FloatField(allow_null=True, help_text="of the samples of these minutes")
    processing_ms = serializers.FloatField(allow_null=True, help_text="mean time that a call was worked on")
    most_processing_ms = serializers.FloatField(allow_null=True, help_text="of the samples of these minutes")
    call_queue_length = serializers.IntegerField(allow_null=True)
    open_connections = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField(allow_null=True)
    blocks = serializers.IntegerField(allow_null=True)
    capacity_bytes = serializers.IntegerField(allow_null=True, help_text="raw: each replica counts")
    used_bytes = serializers.IntegerField(allow_null=True, help_text="raw")
    remaining_bytes = serializers.IntegerField(allow_null=True, help_text="raw")
    under_replicated_blocks = serializers.IntegerField(allow_null=True)
    per_s = serializers.FloatField(allow_null=True, help_text="calls a second of all clients; null with fewer than two samples of one run")
    kinds = serializers.DictField(child=serializers.FloatField(), help_text="calls a second by kind, most first")


class NameNodesSerializer(serializers.Serializer[NameNodes]):
    """What JMX of declared NameNodes has of the same minutes."""

    known = NameNodeSerializer(many=True)
    silent = serializers.ListField(child=serializers.CharField(), help_text="clusters whose NameNode has no sample of these minutes")
    why = serializers.CharField(help_text="what hinders; empty where nothing does")


class FleetCallsSerializer(serializers.Serializer[FleetCalls]):
    """Calls of the newest ten minutes in which jobs took checkpoints."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    left_out = serializers.IntegerField(help_text="jobs with fewer checkpoints than those looked at")
    file_systems = FileSystemCallsSerializer(many=True, help_text="worst second first")
    before = serializers.DictField(child=serializers.FloatField(), help_text="calls a second over time, by file system")
    after = serializers.DictField(child=serializers.FloatField(), help_text="with the moves made")
    moves = JobMoveSerializer(many=True, help_text="most calls first")
    observed = AuditLogsSerializer()
    namenodes = NameNodesSerializer()


def as_document(found: FleetCalls) -> dict[str, Any]:
    return dict(FleetCallsSerializer(found).data)


class _More(serializers.Serializer[Any]):
    more = serializers.IntegerField(default=0, min_value=0, max_value=MOST_MORE)


class FleetCallsView(APIView):
    @extend_schema(
        summary="Calls of all jobs to their file systems, by second",
        operation_id="filesystem_calls",
        parameters=[
            OpenApiParameter("more", {"type": "integer", "minimum": 0, "maximum": MOST_MORE}, description="file systems to suppose")
        ],
        responses={200: FleetCallsSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        asked = _More(data=request.query_params.dict())
        asked.is_valid(raise_exception=True)
        return Response(as_document(look_up_fleet_calls(timezone.now(), asked.validated_data["more"])))
