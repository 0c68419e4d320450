from datetime import timedelta
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.alerting import incident_actions
from webapp.alerting.actions import LONGEST_SILENCE
from webapp.alerting.api.serializers import (
    AlertSerializer,
    CommentSerializer,
    SilenceSerializer,
)
from webapp.alerting.models import Alert
from webapp.incidents.filters import IncidentFilters
from webapp.incidents.members import members
from webapp.incidents.models import Incident
from webapp.lib.api.lists import ERRORS, NOT_FOUND, REFUSALS, ListView, listed
from webapp.lib.api.parsing import valid_input

MOST_ALERTS = 200

NAMES = (
    "uid",
    "title",
    "rule",
    "severity",
    "state",
    "cluster",
    "job_id",
    "job_name",
    "began_at",
    "last_seen",
    "ended_at",
    "finding_count",
    "job_count",
    "acknowledged_name",
    "acknowledged_at",
    "acknowledge_comment",
    "owner_name",
)


class IncidentSerializer(serializers.ModelSerializer[Incident]):
    """Findings of one cause; title, rule and job are those of the cause. Instants are data time,
    except ``acknowledged_at``.
    """

    merged_into = serializers.CharField(source="merged_into.uid", read_only=True, allow_null=True)

    class Meta:
        model = Incident
        fields = (*NAMES, "merged_into")
        read_only_fields = fields


class IncidentFindingSerializer(serializers.Serializer[Any]):
    """``follows_from``: rules of the incident's findings that this one is a consequence of."""

    id = serializers.IntegerField(source="finding.pk")
    is_cause = serializers.BooleanField()
    follows_from = serializers.ListField(child=serializers.CharField(), source="from_rules")
    rule = serializers.CharField(source="finding.rule")
    severity = serializers.CharField(source="finding.severity")
    state = serializers.CharField(source="finding.state")
    cluster = serializers.CharField(source="finding.cluster")
    job_id = serializers.CharField(source="finding.job_id")
    job_name = serializers.CharField(source="finding.job_name", allow_null=True)
    title = serializers.CharField(source="finding.title")
    first_seen = serializers.DateTimeField(source="finding.first_seen")
    last_seen = serializers.DateTimeField(source="finding.last_seen")


class IncidentDetailSerializer(IncidentSerializer):
    findings = serializers.SerializerMethodField()
    alerts = serializers.SerializerMethodField()

    class Meta:
        model = Incident
        fields = (*IncidentSerializer.Meta.fields, "findings", "alerts")
        read_only_fields = fields

    @extend_schema_field(IncidentFindingSerializer(many=True))
    def get_findings(self, row: Incident) -> list[dict[str, Any]]:
        """The cause first; the newest 200."""
        return list(IncidentFindingSerializer(members(row), many=True).data)

    @extend_schema_field(AlertSerializer(many=True))
    def get_alerts(self, row: Incident) -> list[dict[str, Any]]:
        """The newest 200."""
        alerts = (
            Alert.objects.filter(incident__uid=row.uid)
            .select_related("group", "inhibited_by")
            .order_by("-id")
        )
        return list(AlertSerializer(list(alerts[:MOST_ALERTS]), many=True).data)


class IncidentOwnerSerializer(serializers.Serializer[Any]):
    """``owner``: the name of an operator who may see the cluster; empty for nobody."""

    owner = serializers.CharField(max_length=150, allow_blank=True)


class SilenceIncidentSerializer(serializers.Serializer[Any]):
    """``reason``: by default the title of the incident."""

    lasts_s = serializers.IntegerField(min_value=60, max_value=int(LONGEST_SILENCE.total_seconds()))
    reason = serializers.CharField(max_length=1_000, required=False, allow_blank=True, default="")


@listed(IncidentSerializer, "Incidents, newest first")
class IncidentViews(ListView):
    queryset = Incident.objects.listed().select_related("merged_into")
    filterset_class = IncidentFilters
    lookup_field = "uid"
    lookup_value_regex = "inc_[a-z2-7]{26}"

    @extend_schema(
        summary="One incident with its findings and alerts",
        responses={200: IncidentDetailSerializer, **ERRORS, **NOT_FOUND},
    )
    def retrieve(self, request: Request, uid: str) -> Response:
        return Response(IncidentDetailSerializer(self._find(uid)).data)

    @extend_schema(
        summary=(
            "Acknowledge an incident: all of its alerts, and those that join it and are not worse"
        ),
        request=CommentSerializer,
        responses={200: IncidentSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, uid: str) -> Response:
        incident = self._find(uid)
        comment = valid_input(CommentSerializer(data=request.data))["comment"]
        incident_actions.acknowledge(incident, request.user, comment, timezone.now())
        return Response(IncidentSerializer(incident).data)

    @extend_schema(
        summary="Take the acknowledgement of an incident back", request=None,
        responses={200: IncidentSerializer, **REFUSALS},
    )  # fmt: skip
    @action(detail=True, methods=["post"], url_path="take-back")
    def take_back(self, request: Request, uid: str) -> Response:
        incident = self._find(uid)
        incident_actions.take_back(incident, request.user, timezone.now())
        return Response(IncidentSerializer(incident).data)

    @extend_schema(
        summary="Say who works on an incident",
        request=IncidentOwnerSerializer,
        responses={200: IncidentSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"])
    def assign(self, request: Request, uid: str) -> Response:
        incident = self._find(uid)
        owner = valid_input(IncidentOwnerSerializer(data=request.data))["owner"]
        incident_actions.assign(incident, owner, request.user, timezone.now())
        return Response(IncidentSerializer(incident).data)

    @extend_schema(
        summary="Silence an incident: nobody is notified of its alerts, nor of those that join it",
        request=SilenceIncidentSerializer,
        responses={201: SilenceSerializer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, methods=["post"])
    def silence(self, request: Request, uid: str) -> Response:
        incident = self._find(uid)
        entered = valid_input(SilenceIncidentSerializer(data=request.data))
        duration, reason = timedelta(seconds=entered["lasts_s"]), entered["reason"]
        silence = incident_actions.silence(incident, duration, reason, request.user, timezone.now())
        return Response(SilenceSerializer(silence).data, status=status.HTTP_201_CREATED)

    def _find(self, uid: str) -> Incident:
        return get_object_or_404(Incident.objects.select_related("merged_into"), uid=uid)
