"""File system calls over the API."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.filesystem_calls.job_calls import JobCalls
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.filesystem_calls.words import by_label, sentence
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.path_names import without_nul

_BY_KIND = serializers.DictField(child=serializers.IntegerField())


class JobCallsSerializer(serializers.Serializer[JobCalls]):
    """Calls of one checkpoint of a job to the NameNode of its storage, by the newest _metadata that was read."""

    metadata_path = serializers.CharField()
    checkpoint_id = serializers.IntegerField(allow_null=True)
    modified = serializers.DateTimeField(allow_null=True, help_text="of the _metadata")
    sentence = serializers.SerializerMethodField()
    least = serializers.SerializerMethodField(help_text="by kind; if it uploaded none of the shared files of which that is not known")
    most = serializers.SerializerMethodField(help_text="if it uploaded all of them; equal to least where it is known")
    total_least = serializers.IntegerField(source="least.total")
    total_most = serializers.IntegerField(source="most.total")
    written_total = serializers.IntegerField(help_text="of most, until the checkpoint has completed: the rest is deleted later")
    files_least = serializers.IntegerField(help_text="files that it wrote beside its _metadata")
    files_most = serializers.IntegerField()
    file_bytes = serializers.IntegerField(help_text="of those files, at most")
    files_kept = serializers.IntegerField(help_text="shared files that it took over from earlier checkpoints")
    merged_files = serializers.IntegerField(help_text="of all its files those that hold merged state")
    inline = serializers.IntegerField(help_text="states within the _metadata")
    inline_bytes = serializers.IntegerField()
    metadata_bytes = serializers.IntegerField()
    every_ms = serializers.FloatField(source="pace.every_ms", allow_null=True, help_text="median from one completed to the next")
    duration_ms = serializers.FloatField(source="pace.duration_ms", allow_null=True, help_text="median of completed checkpoints")
    per_s = serializers.FloatField(allow_null=True, help_text="calls a second over time, at most")
    burst_per_s = serializers.FloatField(allow_null=True, help_text="calls a second while a checkpoint is written, at most")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")

    @extend_schema_field(serializers.CharField())
    def get_sentence(self, calls: JobCalls) -> str:
        return sentence(calls)

    @extend_schema_field(_BY_KIND)
    def get_least(self, calls: JobCalls) -> dict[str, int]:
        return by_label(calls.least)

    @extend_schema_field(_BY_KIND)
    def get_most(self, calls: JobCalls) -> dict[str, int]:
        return by_label(calls.most)


def as_document(calls: JobCalls) -> dict[str, Any]:
    return dict(JobCallsSerializer(calls).data)


class FilesystemCallsView(APIView):
    @extend_schema(
        summary="Calls of a job's checkpoints to the NameNode",
        operation_id="jobs_filesystem_calls",
        responses={200: JobCallsSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = get_object_or_404(JobCurrent, cluster=without_nul(cluster), job_id=without_nul(job_id))
        found = look_up_calls(job, timezone.now())
        if found.calls is None:
            raise Http404(found.why)
        return Response(as_document(found.calls))
