from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, CHECKPOINT_UPLOAD, SIZE_TREND
from webapp.checkpoints.filters import CheckpointFilters, RollupFilters, UploadFilters
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.fleet.filters import OfAttempts
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.served import ServedSerializer


class CheckpointSerializer(ServedSerializer[CheckpointFact]):
    class Meta:
        model, table = CheckpointFact, CHECKPOINT_FACT
        exclude = ("id",)


class RollupSerializer(ServedSerializer[CheckpointRollup]):
    class Meta:
        model, table = CheckpointRollup, CHECKPOINT_ROLLUP
        exclude = ("id",)


class UploadSerializer(ServedSerializer[CheckpointUpload]):
    class Meta:
        model, table = CheckpointUpload, CHECKPOINT_UPLOAD
        exclude = ("id",)


class SizeTrendSerializer(ServedSerializer[SizeTrend]):
    class Meta:
        model, table = SizeTrend, SIZE_TREND
        exclude = ("id",)


@listed(CheckpointSerializer, "Checkpoints and savepoints, newest first")
class CheckpointViews(ListView):
    filterset_class = CheckpointFilters


@listed(RollupSerializer, "Checkpoints aggregated by hour and day, newest first")
class RollupViews(ListView):
    filterset_class = RollupFilters


@listed(UploadSerializer, "Uploads around restores and savepoints, from _metadata, newest first")
class UploadViews(ListView):
    filterset_class = UploadFilters


@listed(SizeTrendSerializer, "How the state of each job grows")
class SizeTrendViews(ListView):
    filterset_class = OfAttempts
