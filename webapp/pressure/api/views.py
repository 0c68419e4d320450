"""Buffer pressure over the API."""

from spark_jobs.serving import PRESSURE_WINDOW
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.served import ServedSerializer
from webapp.pressure.filters import PressureFilters
from webapp.pressure.models import PressureWindow


class PressureWindowSerializer(ServedSerializer[PressureWindow]):
    class Meta:
        model, table = PressureWindow, PRESSURE_WINDOW
        exclude = ("id",)


@listed(PressureWindowSerializer, "Buffer pressure of vertices by window, newest first")
class PressureWindowViews(ListView):
    filterset_class = PressureFilters
