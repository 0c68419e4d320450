from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.replication.job_replication import JobReplication, job_replication


class ReplicationSerializer(serializers.Serializer[JobReplication]):
    """The copy of a job's checkpoints at another place, and how far it is behind."""

    state = serializers.CharField(source="badge.word")
    copied_from = serializers.CharField(
        source="replica.source", help_text="directory of the job, canonical"
    )
    destination = serializers.CharField(source="replica.destination")
    every_s = serializers.IntegerField(
        source="replica.every_s", help_text="between two looks for a newer checkpoint"
    )
    enabled = serializers.BooleanField(source="replica.enabled")
    trouble = serializers.CharField(
        source="replica.trouble", help_text="why the last try failed; empty where it did not"
    )
    tried_at = serializers.DateTimeField(source="replica.tried_at", allow_null=True)
    checkpoint_id = serializers.IntegerField(
        source="replica.checkpoint_id", allow_null=True, help_text="null before the first copy"
    )
    location = serializers.CharField(source="replica.location", help_text="what a restore is given")
    triggered_at = serializers.DateTimeField(source="replica.triggered_at", allow_null=True)
    completed_at = serializers.DateTimeField(source="replica.completed_at", allow_null=True)
    lag_ms = serializers.IntegerField(
        allow_null=True,
        help_text="since the trigger of the copied checkpoint: lost if the origin is",
    )
    at = serializers.DateTimeField(help_text="as of when that is")
    files = serializers.IntegerField(source="replica.files", allow_null=True)
    bytes = serializers.IntegerField(source="replica.bytes", allow_null=True)


def as_document(replication: JobReplication) -> dict[str, Any]:
    return dict(ReplicationSerializer(replication).data)


class ReplicationView(APIView):
    @extend_schema(
        summary="The copy of a job's checkpoints elsewhere",
        operation_id="jobs_replication",
        responses={200: ReplicationSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        replication = job_replication(job_or_404(cluster, job_id), timezone.now())
        if replication is None:
            raise Http404("No copy of the checkpoints of this job was asked for.")
        return Response(as_document(replication))
