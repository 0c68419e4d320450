"""The triage of a missing file over the API."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.uris import BadUri
from webapp.cleanup.missing_files.audited_files import Listed
from webapp.cleanup.missing_files.causes import LABELS, RANK, Cause
from webapp.cleanup.missing_files.handles import Handle
from webapp.cleanup.missing_files.journal import Deed
from webapp.cleanup.missing_files.missing_file import Owner, Triage, triage
from webapp.cleanup.missing_files.referrers import Referrer
from webapp.cleanup.missing_files.words import summary
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import LongText


class OwnerSerializer(serializers.Serializer[Owner]):
    job_id = serializers.CharField()
    cluster = serializers.CharField(
        allow_null=True, help_text="null where no cluster reported the job, as what follows"
    )
    name = serializers.CharField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    ended = serializers.BooleanField(allow_null=True)
    end_time = serializers.DateTimeField(allow_null=True)
    retained_on_cancellation = serializers.BooleanField(allow_null=True)


class ReferrerSerializer(serializers.Serializer[Referrer]):
    metadata_path = serializers.CharField()
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    job_name = serializers.CharField(allow_null=True)
    ended = serializers.BooleanField(allow_null=True, help_text="its job")
    checkpoint_id = serializers.IntegerField(allow_null=True)
    is_savepoint = serializers.BooleanField()
    superseded = serializers.BooleanField(help_text="a later checkpoint of the chain is whole")


class HandleSerializer(serializers.Serializer[Handle]):
    metadata_path = serializers.CharField()
    operator_id = serializers.CharField()
    operator = serializers.CharField(help_text="its name; empty where none is known")
    subtask = serializers.IntegerField(allow_null=True)
    kind = serializers.CharField()
    state_bytes = serializers.IntegerField(allow_null=True)


class ListedSerializer(serializers.Serializer[Listed]):
    audit_id = serializers.CharField()
    as_of = serializers.DateTimeField()
    bytes = serializers.IntegerField(allow_null=True)
    modified = serializers.DateTimeField(allow_null=True)
    first_seen_at = serializers.DateTimeField(allow_null=True)
    verdict = serializers.CharField()


class DeedSerializer(serializers.Serializer[Deed]):
    plan = serializers.IntegerField()
    plan_name = serializers.CharField()
    verb = serializers.CharField()
    outcome = serializers.CharField()
    at = serializers.DateTimeField()
    quarantine = serializers.CharField(allow_null=True)


class CauseSerializer(serializers.Serializer[Cause]):
    key = serializers.ChoiceField(tuple(LABELS))
    verdict = serializers.ChoiceField(RANK)
    because = serializers.CharField()


class TriageSerializer(serializers.Serializer[Triage]):
    """Whose a missing file was, who needs it, when it was last listed, and what may have deleted
    it.
    """

    path = serializers.CharField(help_text="canonical")
    summary = serializers.SerializerMethodField()
    place = serializers.CharField(help_text="which part of Flink's layout")
    root_uri = serializers.CharField(
        allow_null=True, help_text="the registered root that it lies below"
    )
    present = serializers.BooleanField(
        allow_null=True, help_text="whether it is there now; null where that cannot be known"
    )
    owner = OwnerSerializer(allow_null=True, help_text="the job in whose directory it was")
    referrers = ReferrerSerializer(many=True)
    more_referrers = serializers.IntegerField()
    referrers_as_of = serializers.DateTimeField(allow_null=True)
    handles = HandleSerializer(many=True)
    seen = ListedSerializer(allow_null=True, help_text="by the newest audit that listed it")
    gone_by = serializers.DateTimeField(
        allow_null=True, help_text="the first audit after that which did not"
    )
    audits = serializers.IntegerField(help_text="whose lists of files were looked through")
    deeds = DeedSerializer(many=True, help_text="of clean-up plans")
    causes = CauseSerializer(many=True, help_text="best founded first")
    unknown = serializers.ListField(
        child=serializers.CharField(), help_text="sentences on what is not known"
    )

    @extend_schema_field(serializers.CharField())
    def get_summary(self, triaged: Triage) -> str:
        return summary(triaged).word


def as_document(triaged: Triage) -> dict[str, Any]:
    return dict(TriageSerializer(triaged).data)


class MissingFileParameters(ListFilters):
    path = LongText(about="the file as Flink names it, or the exception that names it")


class MissingFileTriageView(APIView):
    @extend_schema(
        summary="Triage of a file that a restore did not find",
        operation_id="missing_file_retrieve",
        parameters=described(MissingFileParameters, required=("path",)),
        responses={200: TriageSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        try:
            triaged = triage(given(MissingFileParameters, request).values.get("path", ""))
        except BadUri as error:
            raise Http404(str(error)) from error
        return Response(as_document(triaged))
