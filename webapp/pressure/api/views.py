"""Buffer pressure over the API."""

from rest_framework import serializers

from webapp.lib.api.lists import ListView, listed
from webapp.pressure.filters import PressureFilters
from webapp.pressure.models import PressureWindow


class PressureWindowSerializer(serializers.ModelSerializer[PressureWindow]):
    class Meta:
        model = PressureWindow
        exclude = ("id",)


@listed(PressureWindowSerializer, "Buffer pressure of vertices by window, newest first")
class PressureWindowViews(ListView):
    filterset_class = PressureFilters
