"""Alerts and what people set about them, as machines read and write them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from webapp.alerting.models import Alert, AlertEvent, MaintenanceWindow, RuleSetting, Silence
from webapp.delivery.api.serializers import MatchersField
from webapp.findings.models import ThresholdOverride


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
            "maintenance",
            "acknowledged_name",
            "acknowledged_at",
            "acknowledge_comment",
        )
        read_only_fields = fields


class AlertEventSerializer(serializers.ModelSerializer[AlertEvent]):
    class Meta:
        model = AlertEvent
        fields = ("at", "noted_at", "kind", "who", "comment")


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


class MutesSerializer(serializers.ModelSerializer[Any]):
    matchers = MatchersField(min_length=1)
    reason = serializers.CharField(max_length=1_000)


class SilenceSerializer(MutesSerializer):
    """``starts_at``: now where it is not given."""

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


class MaintenanceWindowSerializer(MutesSerializer):
    """Once from ``starts_at`` (now) to ``ends_at``, or every week on ``weekday`` (0 Monday) at
    ``time_of_day`` UTC for ``duration_s``.
    """

    starts_at = serializers.DateTimeField(required=False)
    ends_at = serializers.DateTimeField(required=False, allow_null=True)
    weekday = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=6)
    time_of_day = serializers.TimeField(required=False, allow_null=True)
    duration_s = serializers.IntegerField(
        required=False, allow_null=True, min_value=60, max_value=7 * 86_400
    )

    class Meta:
        model = MaintenanceWindow
        fields = (
            "id",
            "matchers",
            "reason",
            "starts_at",
            "ends_at",
            "weekday",
            "time_of_day",
            "duration_s",
            "author_name",
            "created_at",
            "ended_name",
        )
        read_only_fields = ("id", "author_name", "created_at", "ended_name")


class RuleSettingSerializer(serializers.ModelSerializer[RuleSetting]):
    """Setting a scope again replaces what was set; null and "" leave what a wider scope says."""

    class Meta:
        model = RuleSetting
        fields = (
            "id",
            "rule",
            "cluster",
            "job_id",
            "job_name",
            "severity",
            "alerts",
            "hold_before_s",
            "hold_after_s",
            "author_name",
            "changed_at",
        )
        read_only_fields = ("id", "job_name", "author_name", "changed_at")
        validators: list[Any] = []  # the same scope again is a change, not an error
        extra_kwargs = {"alerts": {"required": False, "allow_null": True}}


class RuleSettingPreviewSerializer(serializers.Serializer[Any]):
    """How often the rule would have alerted in the last 7 days, as it is and with the setting."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    fired_now = serializers.IntegerField(source="now.fired")
    fired_then = serializers.IntegerField(source="then.fired")
    critical_now = serializers.IntegerField(source="now.critical")
    critical_then = serializers.IntegerField(source="then.critical")
    findings = serializers.IntegerField(source="now.findings")
    cut = serializers.BooleanField(source="now.cut")


class ThresholdSerializer(serializers.ModelSerializer[ThresholdOverride]):
    """Setting a scope again replaces what was set."""

    author_name = serializers.CharField(source="author.username", read_only=True, allow_null=True)

    class Meta:
        model = ThresholdOverride
        fields = (
            "id",
            "key",
            "value",
            "cluster",
            "job_id",
            "job_name",
            "author_name",
            "changed_at",
        )
        read_only_fields = ("id", "job_name", "author_name", "changed_at")
        validators: list[Any] = []  # the same scope again is a change, not an error
