from webapp.lib.api.routes import Routes
from webapp.pressure.api.views import PressureWindowViews, VertexHourViews

ROUTES: Routes = (
    ("pressure-windows", PressureWindowViews, "api-pressure-windows"),
    ("vertex-hours", VertexHourViews, "api-vertex-hours"),
)
