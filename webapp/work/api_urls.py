from webapp.lib.api.routes import Routes
from webapp.work.api.views import PipelineRunViews, SkippedInputViews

ROUTES: Routes = (
    ("pipeline-runs", PipelineRunViews, "api-pipeline-runs"),
    ("skipped-inputs", SkippedInputViews, "api-skipped-inputs"),
)
