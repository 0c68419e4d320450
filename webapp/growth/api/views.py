"""Growth over the API."""

from rest_framework import serializers

from webapp.growth.filters import GrowthFilters, ObjectiveFilters, ObjectiveRecordFilters
from webapp.growth.models import JobGrowth, Objective, ObjectiveRecord
from webapp.lib.api.lists import ListView, listed
from webapp.storage.replication_factor import NONE, factors_of_clusters


class ObjectiveSerializer(serializers.ModelSerializer[Objective]):
    class Meta:
        model = Objective
        exclude = ("id",)


class ObjectiveRecordSerializer(serializers.ModelSerializer[ObjectiveRecord]):
    objective = serializers.CharField(source="objective.name")

    class Meta:
        model = ObjectiveRecord
        exclude = ("id", "minutes", "hours", "sums")


@listed(ObjectiveSerializer, "Objectives of jobs")
class ObjectiveViews(ListView):
    filterset_class = ObjectiveFilters


@listed(ObjectiveRecordSerializer, "How each job meets each objective of it")
class ObjectiveRecordViews(ListView):
    queryset = ObjectiveRecord.objects.select_related("objective").defer("minutes", "hours", "sums")
    filterset_class = ObjectiveRecordFilters


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
