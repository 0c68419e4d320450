"""Address of the triage below /api/v1/."""

from django.urls import path

from webapp.cleanup.missing_files.api.views import MissingFileTriageView

urlpatterns = [path("missing-file/", MissingFileTriageView.as_view(), name="api-missing-file")]
