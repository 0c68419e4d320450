"""Merging of a root over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.storage.api.retention import RetentionParameters
from webapp.storage.merging import MergeBenefit, Merging, merging
from webapp.storage.models import MergedFile
from webapp.storage.newest_audits import latest_of


class MergeBenefitSerializer(serializers.Serializer[MergeBenefit]):
    up_to_bytes = serializers.IntegerField(help_text="files of at most this size")
    files = serializers.IntegerField()
    bytes = serializers.IntegerField()
    least = serializers.IntegerField(help_text="how few they could be, merged; one for each checkpoint and its _metadata at least")
    saved = serializers.IntegerField()
    saved_share = serializers.FloatField()


class MergedFileSerializer(serializers.ModelSerializer[MergedFile]):
    """A merged file of which a part only is needed."""

    amplification = serializers.FloatField(allow_null=True, help_text="bytes on disk per byte that is needed")

    class Meta:
        model = MergedFile
        fields = ("path", "job_id", "bytes", "live_segment_bytes", "unused_bytes", "amplification", "checkpoints")


class MergingSerializer(serializers.Serializer[Merging]):
    """What merging would save in a root, and what compacting merged files would free."""

    root_uri = serializers.CharField()
    as_of = serializers.DateTimeField()
    benefits = MergeBenefitSerializer(many=True)
    merged_files = serializers.IntegerField()
    on_disk_bytes = serializers.IntegerField(help_text="of merged files")
    live_bytes = serializers.IntegerField(help_text="of it, segments that a retained checkpoint refers to")
    freed_bytes = serializers.IntegerField(help_text="what compacting the listed files would free")
    worth_compacting = MergedFileSerializer(many=True, help_text="at most 100, most bytes that are not needed first")


def as_document(found: Merging) -> dict[str, Any]:
    return dict(MergingSerializer(found).data)


class MergingView(APIView):
    @extend_schema(
        summary="What merging files would save in a root, and what compacting merged files would free",
        operation_id="storage_merging_retrieve",
        parameters=described(RetentionParameters, required=("root",)),
        responses={200: MergingSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        figures = latest_of(given(RetentionParameters, request).values.get("root", ""))
        if figures is None:
            raise NotFound("No audit has looked at this root.")
        return Response(as_document(merging(figures)))
