"""The restores of a job over the API."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.models import JobCurrent
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.path_names import without_nul
from webapp.recovery.job_restores import READ_MS, Choice, JobRestores, ObservedRestore, job_restores
from webapp.recovery.parameters import RestoreParameters
from webapp.recovery.restore_time import RestoreRange, UnionReads
from webapp.recovery.words import summary


class RangeSerializer(serializers.Serializer[RestoreRange]):
    least_ms = serializers.FloatField()
    expected_ms = serializers.FloatField()
    most_ms = serializers.FloatField()
    observations = serializers.IntegerField()


class ChoiceSerializer(serializers.Serializer[Choice]):
    kind = serializers.CharField(help_text="checkpoint, local (its copies on TaskManagers) or savepoint")
    checkpoint_id = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField(allow_null=True)
    path = serializers.CharField(allow_null=True)
    state_bytes = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField(allow_null=True, help_text="to read from the storage; null where its _metadata was not read")
    file_bytes = serializers.IntegerField(allow_null=True)
    largest_bytes = serializers.IntegerField(allow_null=True, help_text="state of the subtask that has most")
    estimate = RangeSerializer(allow_null=True, help_text="null where no restore of this kind was observed")


class ObservedSerializer(serializers.Serializer[ObservedRestore]):
    at = serializers.DateTimeField(help_text="when its outage began")
    kind = serializers.CharField(help_text="checkpoint, local (its copies on TaskManagers) or savepoint")
    checkpoint_id = serializers.IntegerField()
    restore_ms = serializers.FloatField(help_text="from the first task that reads state until all run")
    downtime_ms = serializers.FloatField(allow_null=True)
    state_bytes = serializers.IntegerField(allow_null=True)
    lost_taskmanagers = serializers.IntegerField()


class UnionSerializer(serializers.Serializer[UnionReads]):
    operator_id = serializers.CharField()
    operator = serializers.CharField(help_text="its name; empty where none is known")
    states = serializers.ListField(child=serializers.CharField())
    parallelism = serializers.IntegerField()
    files = serializers.IntegerField(help_text="that each subtask reads")
    inline = serializers.IntegerField(help_text="handles within the _metadata, which come with the deployment")
    reads = serializers.IntegerField(help_text="parallelism times files")
    read_bytes = serializers.IntegerField(help_text="by all subtasks together, at most")
    serial_ms = serializers.FloatField(help_text="of one subtask that reads one file after the other, as Flink does")
    parallel_ms = serializers.FloatField(help_text="of one that would read 16 at a time")


class RecoverySerializer(serializers.Serializer[JobRestores]):
    """How long restores of a job took, and what one would take now."""

    summary = serializers.SerializerMethodField()
    local_recovery = serializers.BooleanField(allow_null=True)
    local_setting = serializers.CharField(help_text="what switches local recovery on in its version")
    choices = ChoiceSerializer(many=True, help_text="what it could be restored from now")
    observed = ObservedSerializer(many=True, help_text="newest first")
    unions = UnionSerializer(many=True)
    unions_of = serializers.IntegerField(allow_null=True, help_text="the checkpoint they were read from")
    read_ms = serializers.FloatField(help_text="assumed for one file")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")

    @extend_schema_field(serializers.CharField())
    def get_summary(self, found: JobRestores) -> str:
        return summary(found)


def as_document(found: JobRestores) -> dict[str, Any]:
    return dict(RecoverySerializer(found).data)


class RecoveryView(APIView):
    @extend_schema(
        summary="How long restores of a job took, and what one would take now",
        operation_id="jobs_recovery",
        parameters=described(RestoreParameters),
        responses={200: RecoverySerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = get_object_or_404(JobCurrent, cluster=without_nul(cluster), job_id=without_nul(job_id))
        asked = given(RestoreParameters, request)
        return Response(as_document(job_restores(job, job.last_seen_at or job.as_of, asked.milliseconds or READ_MS)))
