"""Growth over the API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.growth.filters import DEFAULT_DAYS, GrowthFilters
from webapp.growth.groups import CLUSTER, JOB, Group, groupings, groups_by
from webapp.growth.models import JobGrowth
from webapp.growth.quotas import uses
from webapp.growth.trends import WINDOWS, Slope
from webapp.lib.api.lists import ERRORS, ListView, listed
from webapp.storage.replication_factor import NONE, common, factors_of_clusters

_SIZE = "bytes; null is unknown"


_FACTOR = (
    "how often HDFS stores each byte, which sizes count once; null where unknown, or no "
    "matter of its storage"
)


class JobGrowthSerializer(serializers.ModelSerializer[JobGrowth]):
    """One job under all its ids, over one window."""

    replication_factor = serializers.SerializerMethodField(help_text=_FACTOR)

    def get_replication_factor(self, job: JobGrowth) -> float | None:
        if not hasattr(self, "_factors"):
            self._factors = factors_of_clusters()
        return self._factors.get(job.cluster, NONE).factor

    class Meta:
        model = JobGrowth
        exclude = ("id",)


@listed(
    JobGrowthSerializer,
    (
        "Growth of jobs over 7, 30 and 90 days: state, uploads, unreferenced files, days until the "
        "time-out"
    ),
)
class JobGrowthViews(ListView):
    filterset_class = GrowthFilters


class GrowthFiguresSerializer(serializers.Serializer[Any]):
    known_days = serializers.IntegerField(help_text="days of the window with a size")
    state_bytes = serializers.FloatField(allow_null=True, help_text=_SIZE)
    state_bytes_per_day = serializers.FloatField(allow_null=True, help_text="robust slope")
    state_bytes_per_day_low = serializers.FloatField(allow_null=True)
    state_bytes_per_day_high = serializers.FloatField(allow_null=True)
    state_bytes_ahead = serializers.FloatField(
        allow_null=True, help_text="as many days from now as the window has"
    )
    state_bytes_ahead_low = serializers.FloatField(allow_null=True)
    state_bytes_ahead_high = serializers.FloatField(allow_null=True)
    uploaded_bytes = serializers.FloatField(allow_null=True, help_text="in the window")
    uploaded_bytes_per_day = serializers.FloatField(allow_null=True, help_text="mean of whole days")
    uploaded_bytes_per_day_before = serializers.FloatField(
        allow_null=True, help_text="of the window before"
    )
    stored_bytes = serializers.FloatField(
        allow_null=True, help_text="all files, by the last audits"
    )
    unreferenced_bytes = serializers.FloatField(
        allow_null=True, help_text="orphans, and files without a reference below the age guard"
    )
    unreferenced_bytes_per_day = serializers.FloatField(allow_null=True)


class GrowthGroupSerializer(serializers.Serializer[Group]):
    name = serializers.CharField(help_text="of the cluster, or the value of the label")
    clusters = serializers.IntegerField()
    jobs = serializers.IntegerField(help_text="of which a size is known")
    replication_factor = serializers.FloatField(
        source="replicated.factor", allow_null=True, help_text=_FACTOR
    )
    figures = GrowthFiguresSerializer()


class GrowthGroupsSerializer(serializers.Serializer[Any]):
    """Sums over jobs of which they are known, the largest state first."""

    by = serializers.CharField()
    window_days = serializers.IntegerField()
    groups = GrowthGroupSerializer(many=True)


class SlopeSerializer(serializers.Serializer[Slope]):
    per_day = serializers.FloatField(help_text="bytes")
    low = serializers.FloatField()
    high = serializers.FloatField()


class QuotaUseSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(source="quota.kind", help_text="root or cluster")
    subject = serializers.CharField(source="quota.subject")
    quota_bytes = serializers.IntegerField(source="quota.quota_bytes")
    set_by = serializers.CharField(source="quota.set_by")
    set_at = serializers.DateTimeField(source="quota.set_at")
    used_bytes = serializers.FloatField(
        allow_null=True, help_text="by the newest audits; null where none has looked"
    )
    replication_factor = serializers.FloatField(
        source="replicated.factor", allow_null=True, help_text=_FACTOR
    )
    slope = SlopeSerializer(allow_null=True)
    days_until = serializers.FloatField(
        source="until.days",
        allow_null=True,
        help_text="0: reached; null: unknown, or not within ten years",
    )
    days_until_soonest = serializers.FloatField(source="until.soonest", allow_null=True)
    days_until_latest = serializers.FloatField(source="until.latest", allow_null=True)


class _Asked(serializers.Serializer[Any]):
    by = serializers.CharField(default=CLUSTER)
    days = serializers.ChoiceField(WINDOWS, default=DEFAULT_DAYS)

    def validate_by(self, given: str) -> str:
        known = [grouping for grouping in groupings() if grouping != JOB]
        if given not in known:
            raise serializers.ValidationError(f"Must be one of {', '.join(known)}.")
        return given


_DAYS = OpenApiParameter(
    "days", int, enum=WINDOWS, description=f"the window; {DEFAULT_DAYS} where none is given"
)


def groups_document(by: str, window: int) -> dict[str, Any]:
    factors = factors_of_clusters()
    groups = [
        {**vars(group), "replicated": common(factors.get(name, NONE) for name in group.members)}
        for group in groups_by(by, window, timezone.now())
    ]
    return dict(GrowthGroupsSerializer({"by": by, "window_days": window, "groups": groups}).data)


class GrowthGroupsView(APIView):
    @extend_schema(
        summary="Growth of clusters, or of clusters of one label",
        operation_id="growth_groups",
        parameters=[
            OpenApiParameter("by", str, description="cluster, or a label of clusters"),
            _DAYS,
        ],
        responses={200: GrowthGroupsSerializer, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        asked = _Asked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return Response(
            groups_document(asked.validated_data["by"], int(asked.validated_data["days"]))
        )


class StorageQuotasView(APIView):
    @extend_schema(
        summary="Quotas of roots and clusters, how much of them is used and when they are reached",
        operation_id="growth_quotas",
        parameters=[_DAYS],
        responses={200: QuotaUseSerializer(many=True), **ERRORS},
    )
    def get(self, request: Request) -> Response:
        asked = _Asked(data=request.query_params)
        asked.is_valid(raise_exception=True)
        return Response(
            QuotaUseSerializer(
                uses(int(asked.validated_data["days"]), timezone.now()), many=True
            ).data
        )
