from django.urls import path

from webapp.accounts.guards import fleet_wide_only
from webapp.lib.menu import MenuEntry
from webapp.site.views import pipeline as views
from webapp.site.views import stored_data

MENU = MenuEntry("Pipeline", "pipeline", of=("pipeline",), whole_fleet=True)

urlpatterns = fleet_wide_only(
    [
        path("pipeline/", views.pipeline, name="pipeline"),
        path("pipeline/kept/", stored_data.stored_data, name="pipeline-kept"),
        path("pipeline/runs/<int:pk>/", views.run, name="pipeline-run"),
    ]
)
