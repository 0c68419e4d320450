"""Retention of a root over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import LongText
from webapp.storage.idle_snapshots import EndedJob, KeptSavepoint
from webapp.storage.newest_audits import latest_of
from webapp.storage.retention import Retention, RunningJob, retention

STANDING = "needed, superseded (a newer snapshot of its job is whole), last (none is), or unknown"


class KeptSavepointSerializer(serializers.Serializer[KeptSavepoint]):
    path = serializers.CharField()
    cluster = serializers.CharField()
    job_id = serializers.CharField(help_text="empty where unknown")
    checkpoint_id = serializers.IntegerField(allow_null=True)
    written = serializers.DateTimeField(allow_null=True)
    age_ms = serializers.FloatField(allow_null=True)
    files = serializers.IntegerField()
    bytes = serializers.IntegerField()
    standing = serializers.CharField(help_text=STANDING)
    needed_by = serializers.ListField(child=serializers.CharField(), help_text="jobs that have not ended and were restored from it")


class EndedJobSerializer(serializers.Serializer[EndedJob]):
    directory = serializers.CharField()
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    last_written = serializers.DateTimeField(allow_null=True)
    idle_ms = serializers.FloatField(allow_null=True)
    checkpoints = serializers.IntegerField()
    files = serializers.IntegerField(help_text="live ones in its directory")
    bytes = serializers.IntegerField()
    standing = serializers.CharField(help_text="needed or last")
    needed_by = serializers.ListField(
        child=serializers.CharField(), help_text="jobs whose snapshots refer to its files or that came from it"
    )


class RunningJobSerializer(serializers.Serializer[RunningJob]):
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    name = serializers.CharField(allow_null=True)
    retained_on_cancellation = serializers.BooleanField(allow_null=True)
    retained = serializers.IntegerField(allow_null=True, help_text="completed checkpoints that Flink keeps")
    checkpoints = serializers.IntegerField()
    bytes = serializers.IntegerField()
    oldest_file = serializers.DateTimeField(allow_null=True, help_text="when the oldest file was written that its snapshots refer to")
    oldest_file_age_ms = serializers.FloatField(allow_null=True)


class RetentionSerializer(serializers.Serializer[Retention]):
    """What a root keeps because nobody deletes it, and who may still need it."""

    root_uri = serializers.CharField()
    as_of = serializers.DateTimeField()
    unsafe_age_ms = serializers.FloatField(allow_null=True, help_text="deleting what is older than less than this breaks a job's restore")
    savepoints = KeptSavepointSerializer(many=True, help_text="oldest first")
    ended = EndedJobSerializer(many=True, help_text="idle longest first")
    running = RunningJobSerializer(many=True, help_text="jobs that have not ended, most bytes first")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")


def as_document(found: Retention) -> dict[str, Any]:
    return dict(RetentionSerializer(found).data)


class RetentionParameters(ListFilters):
    root = LongText(about="its canonical URI")


class RetentionView(APIView):
    @extend_schema(
        summary="What a root keeps because nobody deletes it, and who may still need it",
        operation_id="storage_retention_retrieve",
        parameters=described(RetentionParameters, required=("root",)),
        responses={200: RetentionSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        figures = latest_of(given(RetentionParameters, request).values.get("root", ""))
        if figures is None:
            raise NotFound("No audit has looked at this root.")
        return Response(as_document(retention(figures)))
