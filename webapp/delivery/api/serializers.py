"""Endpoints and deliveries as the API shows and takes them.

Addresses, keys and secrets go in and never come out.
"""

import json
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from webapp.delivery.choices import FormatName
from webapp.delivery.endpoint_entry import (
    LONGEST_CREDENTIAL,
    LONGEST_EMAIL,
    LONGEST_NAME,
    MOST_EMAILS,
    EndpointEntry,
)
from webapp.delivery.models import Attempt, Delivery, Endpoint
from webapp.delivery.orders import ENDED
from webapp.delivery.targets import LONGEST_URL
from webapp.findings.choices import Severity
from webapp.lib.matchers import LONGEST_VALUE, MOST_MATCHERS, OPERATORS, BadMatcher, from_json


class MatcherSerializer(serializers.Serializer[Any]):
    label: Any = serializers.CharField(max_length=64)
    operator = serializers.ChoiceField(choices=OPERATORS)
    value = serializers.CharField(max_length=LONGEST_VALUE, allow_blank=True, trim_whitespace=False)


class MatchersField(serializers.ListField):
    """Its value is a tuple of checked matchers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=MatcherSerializer(), max_length=MOST_MATCHERS, **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        try:
            return from_json(super().run_validation(data))
        except BadMatcher as error:
            raise serializers.ValidationError(str(error)) from None


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    matchers = MatcherSerializer(many=True)
    emails = serializers.ListField(child=serializers.CharField())
    has_credential = serializers.SerializerMethodField()
    url_shown = serializers.CharField(help_text="its host; the rest may be a password")

    class Meta:
        model = Endpoint
        fields = (
            "id",
            "name",
            "format",
            "url_shown",
            "emails",
            "has_credential",
            "matchers",
            "min_severity",
            "owner_email",
            "enabled",
            "disabled_at",
            "disabled_reason",
            "failures",
            "failing_since",
            "last_delivered_at",
            "paused_until",
            "previous_secret_until",
            "created_at",
            "created_name",
            "changed_at",
            "changed_name",
        )

    def get_has_credential(self, endpoint: Endpoint) -> bool:
        return bool(endpoint.credential_encrypted)


class NewEndpointSerializer(EndpointSerializer):
    """The answer that makes a secret is the only one that ever shows it."""

    secret = serializers.CharField(
        help_text="whsec_…, of format weir; shown this once", allow_blank=True
    )

    class Meta(EndpointSerializer.Meta):
        fields: Any = (*EndpointSerializer.Meta.fields, "secret")


class EndpointRequestSerializer(serializers.Serializer[Any]):
    """Leave ``url`` or ``credential`` out of a change to keep what is stored."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    format = serializers.ChoiceField(choices=FormatName.values, default=FormatName.WEIR)
    url = serializers.CharField(max_length=LONGEST_URL, required=False, write_only=True)
    credential = serializers.CharField(
        max_length=LONGEST_CREDENTIAL,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        write_only=True,
    )
    emails = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_EMAIL),
        required=False,
        max_length=MOST_EMAILS,
    )
    matchers = MatchersField(required=False)
    min_severity = serializers.ChoiceField(choices=Severity.values, default=Severity.WARNING)
    owner_email = serializers.EmailField(required=False, allow_blank=True, default="")

    def entered(self) -> EndpointEntry:
        values: dict[str, Any] = self.validated_data
        return EndpointEntry(
            name=values["name"],
            format=values["format"],
            url=values.get("url"),
            credential=values.get("credential"),
            emails=tuple(values.get("emails", ())),
            matchers=values.get("matchers", ()),
            min_severity=values["min_severity"],
            owner_email=values["owner_email"],
        )


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    endpoint_name = serializers.CharField(source="endpoint.name")

    class Meta:
        model = Delivery
        fields = (
            "uid",
            "endpoint",
            "endpoint_name",
            "mail_to",
            "notice_uid",
            "kind",
            "group",
            "cluster",
            "status",
            "title",
            "made_at",
            "state",
            "next_attempt_at",
            "ended_at",
            "attempts",
            "last_status",
            "last_error",
            "replays",
            "replayed_at",
            "replayed_by",
        )


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    class Meta:
        model = Attempt
        fields = (
            "number",
            "at",
            "request_id",
            "status",
            "error",
            "detail",
            "latency_ms",
            "response",
        )


class DeliveryDetailSerializer(DeliverySerializer):
    """With its attempts, newest first, and the notice as it is kept."""

    tried = AttemptSerializer(many=True)
    notice = serializers.SerializerMethodField()

    class Meta(DeliverySerializer.Meta):
        fields: Any = (*DeliverySerializer.Meta.fields, "tried", "notice")

    def get_notice(self, delivery: Delivery) -> dict[str, Any]:
        notice: dict[str, Any] = json.loads(delivery.payload)
        return notice


class ReplayRangeSerializer(serializers.Serializer[Any]):
    """Instants are ISO 8601, or relative as in now-6h."""

    endpoint = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**63 - 1
    )
    states = serializers.ListField(
        child=serializers.ChoiceField(choices=ENDED),
        default=["dead"],
        min_length=1,
        max_length=len(ENDED),
    )
    to = serializers.CharField(max_length=40, default="now")

    def get_fields(self) -> dict[str, Any]:
        """``from`` is no name that Python could give a field."""
        return {**super().get_fields(), "from": serializers.CharField(max_length=40)}


class ReplayedSerializer(serializers.Serializer[Any]):
    replayed = serializers.IntegerField()
