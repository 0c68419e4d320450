from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, CHECKPOINT_UPLOAD, SIZE_TREND
from webapp.checkpoints.filters import CheckpointFilters, RollupFilters, UploadFilters
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.fleet.filters import OfAttempts
from webapp.lib.api.lists import list_view
from webapp.lib.api.served import serializer_of

SizeTrendSerializer = serializer_of(SizeTrend, SIZE_TREND)

CheckpointViews = list_view(
    serializer_of(CheckpointFact, CHECKPOINT_FACT, name="Checkpoint"),
    CheckpointFilters,
    "Checkpoints and savepoints, newest first",
)
RollupViews = list_view(
    serializer_of(CheckpointRollup, CHECKPOINT_ROLLUP, name="Rollup"),
    RollupFilters,
    "Checkpoints aggregated by hour and day, newest first",
)
UploadViews = list_view(
    serializer_of(CheckpointUpload, CHECKPOINT_UPLOAD, name="Upload"),
    UploadFilters,
    "Uploads around restores and savepoints, from _metadata, newest first",
)
SizeTrendViews = list_view(SizeTrendSerializer, OfAttempts, "How the state of each job grows")
