from collections.abc import Sequence
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.api.serializers import (
    ClusterSerializer,
    JobAnnotationSerializer,
    JobExceptionSerializer,
    JobSerializer,
    LogEventSerializer,
    SourceReadingSerializer,
    UnknownCausesFoundSerializer,
    UnreadLinesFoundSerializer,
)
from webapp.fleet.filters import (
    AnnotationFilters,
    ClusterFilters,
    ExceptionFilters,
    JobFilters,
    LogEventFilters,
    SourceFilters,
)
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.models.cluster import SECRETS
from webapp.fleet.models.job import HEAVY
from webapp.fleet.unrecognised import unknown_causes, unread_lines
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.filter_sets import SORT
from webapp.lib.keysets import KeysetColumn
from webapp.lib.path_names import without_nul


class UnreadLinesView(APIView):
    @extend_schema(
        summary=(
            "Log lines that begin like known lines but differ, by release of Flink, of the last "
            "seven days"
        ),
        operation_id="unread_lines",
        responses={200: UnreadLinesFoundSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        return Response(UnreadLinesFoundSerializer(unread_lines(timezone.now())).data)


class UnknownCausesView(APIView):
    @extend_schema(
        summary=(
            "Failures of jobs whose cause Weir does not know, by root exception, of the last seven "
            "days"
        ),
        operation_id="unknown_causes",
        responses={200: UnknownCausesFoundSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        return Response(UnknownCausesFoundSerializer(unknown_causes(timezone.now())).data)


@listed(ClusterSerializer, "Clusters")
class ClusterViews(ListView):
    queryset = Cluster.objects.defer("cursor", *SECRETS)
    filterset_class = ClusterFilters
    lookup_field = "name"
    lookup_value_regex = "[^/]+"

    @extend_schema(summary="One cluster", responses={200: ClusterSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, name: str) -> Response:
        return Response(
            self.get_serializer(get_object_or_404(self.get_queryset(), name=without_nul(name))).data
        )


@listed(SourceReadingSerializer, "Declared sources of clusters, with the result of the last read")
class SourceViews(ListView):
    filterset_class = SourceFilters


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


@listed(LogEventSerializer, "Typed events read from logs, newest first")
class LogEventViews(ListView):
    filterset_class = LogEventFilters


@listed(JobExceptionSerializer, "Exceptions of jobs, newest first")
class JobExceptionViews(ListView):
    filterset_class = ExceptionFilters


@listed(JobAnnotationSerializer, "What happened to jobs, as marked on charts, newest first")
class JobAnnotationViews(ListView):
    filterset_class = AnnotationFilters
