"""Clusters and jobs over the API."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.fleet.api.serializers import (
    ClusterSerializer,
    JobAnnotationSerializer,
    JobExceptionSerializer,
    JobSerializer,
    LogEventSerializer,
)
from webapp.fleet.choices import ClusterKind, HealthState
from webapp.fleet.fleet_query import HEAVY
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, LogEvent
from webapp.lib.api.filtering import Parameter, time_window
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.keysets import KeysetColumn
from webapp.lib.path_names import without_nul

OF_JOB = (Parameter("cluster", "cluster"), Parameter("job_id", "job_id"))


@listed(ClusterSerializer, "Clusters")
class ClusterViews(ListView):
    queryset = Cluster.objects.defer("cursor", "auth_secret_encrypted")
    serializer_class = ClusterSerializer
    parameters = (Parameter("kind", "kind", choices=ClusterKind.values),)
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    @extend_schema(summary="One cluster", responses={200: ClusterSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, name: str) -> Response:
        return Response(self.get_serializer(get_object_or_404(self.get_queryset(), name=without_nul(name))).data)


@listed(JobSerializer, "Jobs as last seen")
class JobViews(ListView):
    queryset = JobCurrent.objects.all()
    serializer_class = JobSerializer
    parameters = (
        Parameter("cluster", "cluster"),
        Parameter("state", "state", description="as Flink reports it, e.g. RUNNING"),
        Parameter("status", "status", description="the state, UNKNOWN or UNWATCHED"),
        Parameter("name", "name__icontains", description="part of the name"),
        Parameter("health_state", "health_state", choices=HealthState.values),
        Parameter("health_below", "health__lt", "whole", "health less than this"),
        Parameter("failing", "recent_failed__gt", "whole", "more failed checkpoints than this among the last 16"),
    )

    def get_queryset(self) -> Any:
        return JobCurrent.objects.with_status(timezone.now())

    def filter_queryset(self, queryset: Any) -> Any:
        return super().filter_queryset(queryset).defer(*HEAVY)


@listed(LogEventSerializer, "Typed events read from logs, newest first")
class LogEventViews(ListView):
    queryset = LogEvent.objects.all()
    serializer_class = LogEventSerializer
    parameters = (*OF_JOB, Parameter("kind", "kind"), Parameter("checkpoint_id", "checkpoint_id", "whole"), *time_window("ts"))
    paging_keys = (KeysetColumn("ts", descending=True), KeysetColumn("id", descending=True))


@listed(JobExceptionSerializer, "Exceptions of jobs, newest first")
class JobExceptionViews(ListView):
    queryset = JobException.objects.all()
    serializer_class = JobExceptionSerializer
    parameters = (*OF_JOB, *time_window("ts"))
    paging_keys = (KeysetColumn("ts", descending=True), KeysetColumn("id", descending=True))


@listed(JobAnnotationSerializer, "What happened to jobs, as marked on charts, newest first")
class JobAnnotationViews(ListView):
    queryset = JobAnnotation.objects.all()
    serializer_class = JobAnnotationSerializer
    parameters = (*OF_JOB, Parameter("kind", "kind"), *time_window("at"))
    paging_keys = (KeysetColumn("at", descending=True), KeysetColumn("id", descending=True))
