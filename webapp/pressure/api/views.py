from rest_framework import serializers

from spark_jobs.serving import PRESSURE_WINDOW
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.served import ServedSerializer
from webapp.pressure.filters import PressureFilters, VertexHourFilters
from webapp.pressure.models import PressureWindow, VertexHour


class PressureWindowSerializer(ServedSerializer[PressureWindow]):
    class Meta:
        model, table = PressureWindow, PRESSURE_WINDOW
        exclude = ("id",)


@listed(PressureWindowSerializer, "Buffer pressure of vertices by window, newest first")
class PressureWindowViews(ListView):
    filterset_class = PressureFilters


class VertexHourSerializer(serializers.ModelSerializer[VertexHour]):
    class Meta:
        model = VertexHour
        exclude = ("id",)


@listed(VertexHourSerializer, "Records that vertices read and emitted by the hour, newest first")
class VertexHourViews(ListView):
    filterset_class = VertexHourFilters
