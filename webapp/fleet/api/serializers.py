from typing import Any

from rest_framework import serializers

from spark_jobs.serving import JOB_CURRENT
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, HealthState
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.models.job import HEAVY
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
        job: dict[str, Any] = super().to_representation(instance)
        if job["status"] in (UNKNOWN_STATUS, UNWATCHED_STATUS):
            job |= {"health": None, "health_state": HealthState.UNKNOWN}
        return job
