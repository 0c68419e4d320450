from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.serving import JOB_CURRENT
from webapp.checkpoints.api.views import SizeTrendSerializer
from webapp.checkpoints.line_trend import trend_of
from webapp.fleet.api.serializers import JobSerializer
from webapp.fleet.attempts import other_attempts
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.path_names import without_nul


class JobDetailSerializer(JobSerializer):
    """A job with its graph and configuration."""

    attempts = serializers.SerializerMethodField(
        help_text="other ids of the same job, one after the other, the newest first; 20 at most"
    )

    size_trend = serializers.SerializerMethodField(
        help_text=(
            "how its full state grows over these attempts; null where none completed a checkpoint"
        )
    )

    def get_attempts(self, job: JobCurrent) -> list[str]:
        return [other.job_id for other in self._others(job)]

    @extend_schema_field(SizeTrendSerializer(allow_null=True))
    def get_size_trend(self, job: JobCurrent) -> dict[str, Any] | None:
        trend = trend_of(job, self._others(job))
        return SizeTrendSerializer(trend).data if trend else None

    def _others(self, job: JobCurrent) -> list[JobCurrent]:
        others: list[JobCurrent] = self.context["others"]
        return others

    class Meta:
        model, table = JobCurrent, JOB_CURRENT
        exclude = ("id", "trouble")


class JobDetailView(APIView):
    @extend_schema(
        summary="One job with its graph and configuration",
        operation_id="jobs_retrieve",
        responses={200: JobDetailSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        jobs = JobCurrent.objects.with_status(timezone.now())
        job = get_object_or_404(jobs, cluster=without_nul(cluster), job_id=without_nul(job_id))
        return Response(JobDetailSerializer(job, context={"others": other_attempts(job)}).data)
