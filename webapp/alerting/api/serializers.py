from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from webapp.alerting.models import Alert, AlertEvent, Silence
from webapp.lib.api.parsing import BoundedList
from webapp.lib.matchers import LONGEST_VALUE, MOST_MATCHERS, OPERATORS, BadMatcher, from_json


class AlertSerializer(serializers.ModelSerializer[Alert]):
    """One alert; instants named ``starts_at`` and ``ends_at`` are data time, the others Weir's
    own.
    """

    group = serializers.CharField(source="group_key", read_only=True)
    inhibited_by = serializers.CharField(source="inhibited_by.uid", read_only=True, allow_null=True)
    incident = serializers.CharField(source="incident_id", read_only=True, allow_null=True)

    class Meta:
        model = Alert
        fields = (
            "uid",
            "rule",
            "severity",
            "confidence",
            "state",
            "cluster",
            "job_id",
            "job_name",
            "subject_kind",
            "subject_id",
            "subject",
            "title",
            "cause",
            "next_step",
            "evidence",
            "labels",
            "group",
            "finding",
            "incident",
            "recorded",
            "starts_at",
            "ends_at",
            "fired_at",
            "resolved_at",
            "ended_because",
            "quiet_since",
            "resolves_at",
            "firings",
            "flapping",
            "notified",
            "notified_at",
            "muted_by",
            "inhibited_by",
            "silence",
            "acknowledged_name",
            "acknowledged_at",
            "acknowledge_comment",
        )
        read_only_fields = fields


class AlertEventSerializer(serializers.ModelSerializer[AlertEvent]):
    class Meta:
        model = AlertEvent
        fields = ("at", "kind", "who", "comment")


class AlertWithStorySerializer(AlertSerializer):
    events = serializers.SerializerMethodField()

    class Meta:
        model = Alert
        fields = (*AlertSerializer.Meta.fields, "events")
        read_only_fields = fields

    @extend_schema_field(AlertEventSerializer(many=True))
    def get_events(self, row: Alert) -> list[dict[str, Any]]:
        """The newest 200, oldest first."""
        return list(
            AlertEventSerializer(list(row.events.order_by("-id")[:200])[::-1], many=True).data
        )


class CommentSerializer(serializers.Serializer[Any]):
    comment = serializers.CharField(max_length=4_000, required=False, allow_blank=True, default="")


class MatcherSerializer(serializers.Serializer[Any]):
    label: Any = serializers.CharField(max_length=64)
    operator = serializers.ChoiceField(choices=OPERATORS)
    value = serializers.CharField(max_length=LONGEST_VALUE, allow_blank=True, trim_whitespace=False)


class MatchersField(BoundedList):
    """Its valid value is a tuple of :class:`webapp.lib.matchers.Matcher`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=MatcherSerializer(), max_length=MOST_MATCHERS, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        try:
            return from_json(super().run_validation(data))
        except BadMatcher as error:
            raise serializers.ValidationError(str(error)) from None


class SilenceSerializer(serializers.ModelSerializer[Silence]):
    """``starts_at``: by default now."""

    matchers = MatchersField(min_length=1)
    reason = serializers.CharField(max_length=1_000)
    starts_at = serializers.DateTimeField(required=False)

    class Meta:
        model = Silence
        fields = (
            "id",
            "matchers",
            "reason",
            "starts_at",
            "ends_at",
            "author_name",
            "created_at",
            "ended_name",
        )
        read_only_fields = ("id", "author_name", "created_at", "ended_name")
