from typing import Any

from rest_framework import serializers

from spark_jobs.serving import JOB_ANNOTATION, JOB_CURRENT, JOB_EXCEPTION, LOG_EVENT
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, HealthState
from webapp.fleet.models import (
    Cluster,
    JobAnnotation,
    JobCurrent,
    JobException,
    LogEvent,
    SourceReading,
)
from webapp.fleet.models.job import HEAVY
from webapp.fleet.unrecognised import UnknownCause, UnreadLines, Unrecognised
from webapp.lib.api.served import ServedSerializer


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    """A cluster without secrets."""

    visibility = serializers.CharField(
        read_only=True,
        help_text=(
            "live, unreachable, recording, new, paused, left (its source lists it no more), broken "
            "or suspended"
        ),
    )

    class Meta:
        model = Cluster
        fields = (
            "name",
            "kind",
            "visibility",
            "enabled",
            "url",
            "history_url",
            "flink_version",
            "jobs_seen",
            "last_collected_at",
            "last_success_at",
            "last_error",
            "last_requests",
            "last_skips",
            "unreachable_since",
            "time_zone",
            "log_layout",
            "verify_tls",
            "metrics_interval_s",
            "log_store_kind",
            "log_store_url",
            "log_store_read_from",
            "log_store_read_to",
            "log_store_error",
            "created_at",
            "labels",
            "found_by",
            "left_at",
            "operator",
        )


class SourceReadingSerializer(serializers.ModelSerializer[SourceReading]):
    """A declared source of clusters, and the result of its last reading."""

    class Meta:
        model = SourceReading
        exclude = ("id",)


class JobSerializer(ServedSerializer[JobCurrent]):
    """A job as the fleet page shows it."""

    status = serializers.CharField(
        read_only=True,
        help_text=(
            "the reported state; UNKNOWN where nobody can know it now, NOT_LISTED where its "
            "JobManager answers and lists it no more, UNWATCHED where its cluster was removed"
        ),
    )

    class Meta:
        model, table = JobCurrent, JOB_CURRENT
        exclude = ("id", "trouble", *HEAVY)

    def to_representation(self, instance: JobCurrent) -> dict[str, Any]:
        """A job of unknown state has no health."""
        shown: dict[str, Any] = super().to_representation(instance)
        if shown["status"] in (UNKNOWN_STATUS, UNWATCHED_STATUS):
            shown |= {"health": None, "health_state": HealthState.UNKNOWN}
        return shown


class UnreadLinesSerializer(serializers.Serializer[UnreadLines]):
    flink_version = serializers.CharField(allow_null=True, help_text="of the clusters now")
    begins_as = serializers.CharField()
    lines = serializers.IntegerField()
    clusters = serializers.ListField(child=serializers.CharField(), help_text="most lines first")
    more_clusters = serializers.IntegerField(help_text="that are not named")
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    example = serializers.CharField(help_text="the newest line, without secrets")


class UnrecognisedSerializer(serializers.Serializer[Unrecognised[Any]]):
    since = serializers.DateTimeField()
    counted = serializers.IntegerField(help_text="the newest ones that were looked at")
    cut = serializers.BooleanField(help_text="whether there are more, or more groups")


class UnreadLinesFoundSerializer(UnrecognisedSerializer):
    groups = UnreadLinesSerializer(many=True, help_text="most lines first")


class UnknownCauseSerializer(serializers.Serializer[UnknownCause]):
    exception = serializers.CharField(help_text="class of the root exception")
    frame = serializers.CharField(allow_null=True, help_text="the first of the job's own code")
    failures = serializers.IntegerField()
    jobs = serializers.ListField(child=serializers.CharField(), help_text="most failures first")
    more_jobs = serializers.IntegerField(help_text="that are not named")
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()
    example = serializers.CharField(help_text="the newest one, without secrets")


class UnknownCausesFoundSerializer(UnrecognisedSerializer):
    groups = UnknownCauseSerializer(many=True, help_text="most failures first")


class LogEventSerializer(ServedSerializer[LogEvent]):
    class Meta:
        model, table = LogEvent, LOG_EVENT
        exclude = ("id",)


class JobExceptionSerializer(ServedSerializer[JobException]):
    class Meta:
        model, table = JobException, JOB_EXCEPTION
        exclude = ("id",)


class JobAnnotationSerializer(ServedSerializer[JobAnnotation]):
    class Meta:
        model, table = JobAnnotation, JOB_ANNOTATION
        exclude = ("id",)
