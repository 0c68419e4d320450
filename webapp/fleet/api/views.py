from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from spark_jobs.serving import JOB_ANNOTATION, JOB_EXCEPTION, LOG_EVENT
from webapp.fleet.api.serializers import ClusterSerializer, JobSerializer
from webapp.fleet.filters import (
    AnnotationFilters,
    ClusterFilters,
    ExceptionFilters,
    JobFilters,
    LogEventFilters,
)
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, JobException, LogEvent
from webapp.fleet.models.cluster import SECRETS
from webapp.fleet.models.job import HEAVY
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, list_view, listed
from webapp.lib.api.served import serializer_of
from webapp.lib.filter_sets import SORT
from webapp.lib.keysets import KeysetColumn
from webapp.lib.path_names import without_nul


@listed(ClusterSerializer, "Clusters")
class ClusterViews(ListView):
    queryset = Cluster.objects.defer("cursor", "pods", *SECRETS)
    filterset_class = ClusterFilters
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    @extend_schema(summary="One cluster", responses={200: ClusterSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, name: str) -> Response:
        return Response(
            self.get_serializer(get_object_or_404(self.get_queryset(), name=without_nul(name))).data
        )


@listed(JobSerializer, "Jobs as last seen")
class JobViews(ListView):
    filterset_class = JobFilters

    def get_queryset(self) -> Any:
        return JobCurrent.objects.with_status(timezone.now())

    def filter_queryset(self, queryset: Any) -> Any:
        return super().filter_queryset(queryset).defer(*HEAVY)

    def paging_order(self) -> Sequence[KeysetColumn]:
        query = self.request.query_params
        return (
            JobFilters(query, self.get_queryset()).keys if SORT in query else super().paging_order()
        )


LogEventViews = list_view(
    serializer_of(LogEvent, LOG_EVENT),
    LogEventFilters,
    "Typed events read from logs, newest first",
)
JobExceptionViews = list_view(
    serializer_of(JobException, JOB_EXCEPTION),
    ExceptionFilters,
    "Exceptions of jobs, newest first",
)
JobAnnotationViews = list_view(
    serializer_of(JobAnnotation, JOB_ANNOTATION),
    AnnotationFilters,
    "What happened to jobs, as marked on charts, newest first",
)
