"""Buffer pressure over the API."""

from rest_framework import serializers

from webapp.lib.api.lists import ListView, listed
from webapp.lib.keysets import KeysetColumn
from webapp.pressure.filters import PressureFilters
from webapp.pressure.models import PressureWindow


class PressureWindowSerializer(serializers.ModelSerializer[PressureWindow]):
    class Meta:
        model = PressureWindow
        exclude = ("id",)


@listed(PressureWindowSerializer, "Buffer pressure of vertices by window, newest first")
class PressureWindowViews(ListView):
    queryset = PressureWindow.objects.all()
    serializer_class = PressureWindowSerializer
    filterset_class = PressureFilters
    paging_keys = (KeysetColumn("window_start", descending=True), KeysetColumn("id", descending=True))
