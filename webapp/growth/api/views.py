from rest_framework import serializers

from webapp.growth import filters
from webapp.growth.models import JobGrowth, Objective, ObjectiveRecord
from webapp.lib.api.lists import ListView, list_view, listed


class ObjectiveSerializer(serializers.ModelSerializer[Objective]):
    class Meta:
        model = Objective
        exclude = ("id",)


class ObjectiveRecordSerializer(serializers.ModelSerializer[ObjectiveRecord]):
    objective = serializers.CharField(source="objective.name")

    class Meta:
        model = ObjectiveRecord
        exclude = ("id", "minutes", "hours", "sums")


ObjectiveViews = list_view(ObjectiveSerializer, filters.ObjectiveFilters, "Objectives of jobs")


@listed(ObjectiveRecordSerializer, "How each job meets each objective of it")
class ObjectiveRecordViews(ListView):
    queryset = ObjectiveRecord.objects.select_related("objective").defer("minutes", "hours", "sums")
    filterset_class = filters.ObjectiveRecordFilters


class JobGrowthSerializer(serializers.ModelSerializer[JobGrowth]):
    """One job under all its ids, over one window."""

    class Meta:
        model = JobGrowth
        exclude = ("id",)


JobGrowthViews = list_view(
    JobGrowthSerializer,
    filters.GrowthFilters,
    "Growth of jobs over 7, 30 and 90 days: state, uploads, days until the time-out",
)
