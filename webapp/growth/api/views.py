from rest_framework import serializers

from webapp.growth import filters
from webapp.growth.models import JobGrowth, Objective, ObjectiveRecord
from webapp.lib.api.lists import ListView, listed


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
    filterset_class = filters.ObjectiveFilters


@listed(ObjectiveRecordSerializer, "How each job meets each objective of it")
class ObjectiveRecordViews(ListView):
    queryset = ObjectiveRecord.objects.select_related("objective").defer("minutes", "hours", "sums")
    filterset_class = filters.ObjectiveRecordFilters


class JobGrowthSerializer(serializers.ModelSerializer[JobGrowth]):
    """One job under all its ids, over one window."""

    class Meta:
        model = JobGrowth
        exclude = ("id",)


@listed(
    JobGrowthSerializer,
    "Growth of jobs over 7, 30 and 90 days: state, uploads, days until the time-out",
)
class JobGrowthViews(ListView):
    filterset_class = filters.GrowthFilters
