"""Checkpoint facts, roll-ups and size trends over the API."""

from rest_framework import serializers

from webapp.checkpoints.filters import NEWEST_FIRST, CheckpointFilters, RollupFilters, UploadFilters
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.lib.api.lists import ListView, listed
from webapp.lib.filter_sets import OfJob
from webapp.lib.keysets import KeysetColumn


class CheckpointSerializer(serializers.ModelSerializer[CheckpointFact]):
    class Meta:
        model = CheckpointFact
        exclude = ("id",)


class RollupSerializer(serializers.ModelSerializer[CheckpointRollup]):
    class Meta:
        model = CheckpointRollup
        exclude = ("id",)


class UploadSerializer(serializers.ModelSerializer[CheckpointUpload]):
    class Meta:
        model = CheckpointUpload
        exclude = ("id",)


class SizeTrendSerializer(serializers.ModelSerializer[SizeTrend]):
    class Meta:
        model = SizeTrend
        exclude = ("id",)


@listed(CheckpointSerializer, "Checkpoints and savepoints, newest first")
class CheckpointViews(ListView):
    queryset = CheckpointFact.objects.all()
    serializer_class = CheckpointSerializer
    filterset_class = CheckpointFilters
    paging_keys = NEWEST_FIRST


@listed(RollupSerializer, "Checkpoints summed up by hour and day, newest first")
class RollupViews(ListView):
    queryset = CheckpointRollup.objects.all()
    serializer_class = RollupSerializer
    filterset_class = RollupFilters
    paging_keys = (KeysetColumn("period_start", descending=True), KeysetColumn("id", descending=True))


@listed(UploadSerializer, "What _metadata has of the uploads around restores and savepoints, newest first")
class UploadViews(ListView):
    queryset = CheckpointUpload.objects.all()
    serializer_class = UploadSerializer
    filterset_class = UploadFilters
    paging_keys = NEWEST_FIRST


@listed(SizeTrendSerializer, "How the state of each job grows")
class SizeTrendViews(ListView):
    queryset = SizeTrend.objects.all()
    serializer_class = SizeTrendSerializer
    filterset_class = OfJob
