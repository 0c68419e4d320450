"""Checkpoint facts, roll-ups and size trends over the API."""

from rest_framework import serializers

from webapp.checkpoints.filters import CheckpointFilters, RollupFilters, UploadFilters
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.fleet.filters import OfAttempts
from webapp.lib.api.lists import ListView, listed


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
    filterset_class = CheckpointFilters


@listed(RollupSerializer, "Checkpoints summed up by hour and day, newest first")
class RollupViews(ListView):
    filterset_class = RollupFilters


@listed(UploadSerializer, "What _metadata has of the uploads around restores and savepoints, newest first")
class UploadViews(ListView):
    filterset_class = UploadFilters


@listed(SizeTrendSerializer, "How the state of each job grows")
class SizeTrendViews(ListView):
    filterset_class = OfAttempts
