from webapp.checkpoints.api.views import CheckpointViews, RollupViews, SizeTrendViews, UploadViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("checkpoints", CheckpointViews, "api-checkpoints"),
    ("checkpoint-rollups", RollupViews, "api-rollups"),
    ("checkpoint-uploads", UploadViews, "api-checkpoint-uploads"),
    ("size-trends", SizeTrendViews, "api-size-trends"),
)
