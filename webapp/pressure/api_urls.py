"""Addresses of pressure below /api/v1/."""

from webapp.lib.api.routes import Routes
from webapp.pressure.api.views import PressureWindowViews

ROUTES: Routes = (("pressure-windows", PressureWindowViews, "api-pressure-windows"),)
