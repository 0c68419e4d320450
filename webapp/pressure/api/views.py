from rest_framework import serializers

from spark_jobs.serving import PRESSURE_WINDOW
from webapp.lib.api.lists import list_view
from webapp.lib.api.served import serializer_of
from webapp.pressure.filters import PressureFilters, VertexHourFilters
from webapp.pressure.models import PressureWindow, VertexHour


class VertexHourSerializer(serializers.ModelSerializer[VertexHour]):
    class Meta:
        model = VertexHour
        exclude = ("id",)


PressureWindowViews = list_view(
    serializer_of(PressureWindow, PRESSURE_WINDOW),
    PressureFilters,
    "Buffer pressure of vertices by window, newest first",
)
VertexHourViews = list_view(
    VertexHourSerializer,
    VertexHourFilters,
    "Records that vertices read and emitted by the hour, newest first",
)
