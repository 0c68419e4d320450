"""Storage over the API. Lists show the newest audit of each root unless an audit is named."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.errors import IngestError
from webapp.lib.api.filtering import openapi_parameters, valid_filters
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, list_view, listed
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import LongText
from webapp.storage import filters
from webapp.storage.api import serializers
from webapp.storage.choices import AuditState
from webapp.storage.models import StorageRoot
from webapp.storage.newest_audits import audited_or_404, latest_checkpoint
from webapp.storage.verdict_files import FileFilters, read_page
from webapp.storage.xray import xray_reader
from webapp.storage.xray.location import NotLocated, find_metadata

FILES_A_PAGE = 500


class _LoadedRows(ListView):
    # Leaves out rows of an audit that is still being loaded.
    def get_queryset(self) -> Any:
        return super().get_queryset().filter(audit__state=AuditState.LOADED)


@listed(serializers.StorageRootSerializer, "Registered roots of checkpoint storage")
class StorageRootViews(ListView):
    queryset = StorageRoot.objects.prefetch_related("clusters")
    filterset_class = filters.RootFilters


StorageAuditViews = list_view(
    serializers.StorageAuditSerializer,
    filters.AuditFilters,
    "Audits of checkpoint storage, newest first",
)
RootFiguresViews = list_view(
    serializers.RootFiguresSerializer,
    filters.RootFiguresFilters,
    "Roots in audits over time, newest first",
    _LoadedRows,
)
VerdictFiguresViews = list_view(
    serializers.VerdictFiguresSerializer,
    filters.VerdictFilters,
    "Files of roots by verdict, reason and kind",
    _LoadedRows,
)
JobStorageViews = list_view(
    serializers.JobStorageSerializer,
    filters.JobStorageFilters,
    "Directories of jobs, largest first",
    _LoadedRows,
)
CheckpointStorageViews = list_view(
    serializers.CheckpointStorageSerializer,
    filters.CheckpointStorageFilters,
    "Retained checkpoints and savepoints, largest first",
    _LoadedRows,
)
ChainLinkViews = list_view(
    serializers.ChainLinkSerializer,
    filters.ChainFilters,
    "Which job depends on which other",
    _LoadedRows,
)
MissingFileViews = list_view(
    serializers.MissingFileSerializer,
    filters.MissingFilters,
    "Files that checkpoints refer to and that are not there",
    _LoadedRows,
)
AuditDoubtViews = list_view(
    serializers.AuditDoubtSerializer,
    filters.DoubtFilters,
    "What audits could not read or know",
    _LoadedRows,
)
StorageStatementViews = list_view(
    serializers.StorageStatementSerializer,
    filters.StatementFilters,
    "What operators stated so that doubts end, newest first",
)


class StorageFilesView(APIView):
    """Reads the Parquet files of the newest audit of the root."""

    @extend_schema(
        summary="Files that are not live, in the order of their paths",
        operation_id="storage_files_list",
        parameters=openapi_parameters(FileFilters, required=("root",)),
        responses={200: serializers.StorageFilesAnswer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        query = valid_filters(FileFilters, request).query
        figures = audited_or_404(query.root)
        page, unreadable = read_page(figures, query, FILES_A_PAGE)
        if unreadable:
            raise NotFound(unreadable)
        rows = serializers.StorageFileSerializer(page.rows, many=True).data
        return Response(
            {
                "audit_id": figures.audit.audit_id,
                "after": page.after or None,
                "incomplete": page.incomplete,
                "results": rows,
            }
        )


class XrayParameters(ListFilters):
    path = LongText(about="its directory or `_metadata`, as Flink names it")


class XrayView(APIView):
    """Reads the `_metadata` of one checkpoint in a registered root."""

    @extend_schema(
        summary="X-ray of a checkpoint or savepoint",
        operation_id="storage_xray_retrieve",
        parameters=openapi_parameters(XrayParameters, required=("path",)),
        responses={200: serializers.XrayAnswer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        values = valid_filters(XrayParameters, request).values
        try:
            file = find_metadata(values.get("path", ""))
            xray = xray_reader.xray(file)
        except (NotLocated, FileNotFoundError) as error:
            raise Http404(str(error)) from error
        except (IngestError, OSError) as error:
            raise NotFound(f"It could not be read: {error}") from error
        audited = latest_checkpoint(file.path)
        return Response(
            {
                "xray": asdict(xray),
                "self_contained": xray.self_contained,
                "relocatable": xray.relocatable,
                "resolvable": audited.resolvable if audited else None,
            }
        )
