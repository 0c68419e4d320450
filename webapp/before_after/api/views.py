"""Before and after over the API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.before_after.configuration_changes import Change
from webapp.before_after.job_change import First, JobChange, Mark, Measure, Tally, job_change
from webapp.before_after.parameters import ChangeParameters
from webapp.before_after.samples import STATES, Comparison, Sample
from webapp.before_after.windows import DEFAULT, LENGTHS
from webapp.before_after.words import sentence, verdict
from webapp.fleet.choices import ClusterKind
from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND


class SampleSerializer(serializers.Serializer[Sample]):
    count = serializers.IntegerField()
    median = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True, help_text="eight of ten values are between low and high")
    high = serializers.FloatField(allow_null=True)


class ComparisonSerializer(serializers.Serializer[Comparison]):
    before = SampleSerializer()
    after = SampleSerializer()
    state = serializers.ChoiceField(STATES)
    above = serializers.FloatField(allow_null=True, help_text="share of pairs in which the value after is the larger one")
    change = serializers.FloatField(allow_null=True, help_text="of the medians, as a ratio of the one before")
    says = serializers.SerializerMethodField(help_text="the comparison in words")

    @extend_schema_field(serializers.CharField())
    def get_says(self, found: Comparison) -> str:
        return sentence(found)


class MeasureSerializer(serializers.Serializer[Measure]):
    name = serializers.CharField()
    unit = serializers.CharField(help_text="ms, bytes, ratio or ms/s")
    vertex = serializers.CharField(allow_blank=True, help_text="empty where it is of the whole job")
    comparison = ComparisonSerializer()


class MarkSerializer(serializers.Serializer[Mark]):
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a name of the answer
    job_id = serializers.CharField()


class TallySerializer(serializers.Serializer[Tally]):
    name = serializers.CharField()
    unit = serializers.CharField(allow_blank=True)
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class ConfigurationChangeSerializer(serializers.Serializer[Change]):
    of = serializers.CharField(help_text="job, checkpoints, configuration or vertices")
    name = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class FirstSerializer(serializers.Serializer[First]):
    job_id = serializers.CharField()
    checkpoint_id = serializers.IntegerField()
    trigger_time = serializers.DateTimeField()
    end_to_end_ms = serializers.IntegerField(allow_null=True)
    state_bytes = serializers.IntegerField(allow_null=True)
    checkpointed_bytes = serializers.IntegerField(allow_null=True)


class JobChangeSerializer(serializers.Serializer[JobChange]):
    """A job in two windows of one length, before and after an instant."""

    at = serializers.DateTimeField()
    verdict = serializers.SerializerMethodField()
    before_from = serializers.DateTimeField(source="windows.start", default=None, allow_null=True)
    after_to = serializers.DateTimeField(source="windows.end", default=None, allow_null=True)
    cut = serializers.CharField(source="windows.cut", default="", allow_blank=True, help_text="why the windows are shorter than asked for")
    marks = MarkSerializer(many=True, help_text="what happened at the instant")
    others = MarkSerializer(many=True, help_text="what else happened in the windows; it is in the figures too")
    job_id_before = serializers.CharField(source="before.job_id", default=None, allow_null=True)
    job_id_after = serializers.CharField(source="after.job_id", default=None, allow_null=True)
    changes = ConfigurationChangeSerializer(many=True, allow_null=True, help_text="null where the attempt is the same")
    measures = MeasureSerializer(many=True)
    pressure = MeasureSerializer(many=True)
    tallies = TallySerializer(many=True)
    first = FirstSerializer(allow_null=True, help_text="the first checkpoint that completed after it")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, found: JobChange) -> str:
        return verdict(found)


def as_document(job: JobCurrent, values: dict[str, Any]) -> dict[str, Any]:
    is_recording = Cluster.objects.filter(name=job.cluster, kind=ClusterKind.RECORDING).exists()
    length = LENGTHS[values.get("window") or DEFAULT]
    return dict(JobChangeSerializer(job_change(job, values["at"], length, timezone.now(), kept_for_good=is_recording)).data)


class BeforeAfterView(APIView):
    @extend_schema(
        summary="A job before and after something that happened to it",
        operation_id="jobs_before_after",
        parameters=described(ChangeParameters, required=("at",)),
        responses={200: JobChangeSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        values = given(ChangeParameters, request).values
        if "at" not in values:
            raise ValidationError({"at": ["Say when it happened; /annotations/ lists what did."]})
        return Response(as_document(job, values))
