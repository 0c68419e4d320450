"""Checkpoint facts, roll-ups and size trends over the API."""

from rest_framework import serializers

from spark_jobs.serving import OUTCOMES
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.lib.api.filtering import Parameter, time_window
from webapp.lib.api.lists import ListView, listed
from webapp.lib.keysets import KeysetColumn

OF_JOB = (Parameter("cluster", "cluster"), Parameter("job_id", "job_id"))


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
    parameters = (
        *OF_JOB,
        Parameter("checkpoint_id", "checkpoint_id", "whole"),
        Parameter("outcome", "outcome", choices=OUTCOMES),
        Parameter("is_savepoint", "is_savepoint", "flag"),
        Parameter("reason", "reason", description="e.g. CHECKPOINT_EXPIRED"),
        *time_window("trigger_time"),
    )
    paging_keys = (KeysetColumn("trigger_time", descending=True), KeysetColumn("id", descending=True))


@listed(RollupSerializer, "Checkpoints summed up by hour and day, newest first")
class RollupViews(ListView):
    queryset = CheckpointRollup.objects.all()
    serializer_class = RollupSerializer
    parameters = (*OF_JOB, Parameter("period", "period", choices=("hour", "day")), *time_window("period_start"))
    paging_keys = (KeysetColumn("period_start", descending=True), KeysetColumn("id", descending=True))


@listed(UploadSerializer, "What _metadata has of the uploads around restores and savepoints, newest first")
class UploadViews(ListView):
    queryset = CheckpointUpload.objects.all()
    serializer_class = UploadSerializer
    parameters = (*OF_JOB, Parameter("checkpoint_id", "checkpoint_id", "whole"), *time_window("trigger_time"))
    paging_keys = (KeysetColumn("trigger_time", descending=True), KeysetColumn("id", descending=True))


@listed(SizeTrendSerializer, "How the state of each job grows")
class SizeTrendViews(ListView):
    queryset = SizeTrend.objects.all()
    serializer_class = SizeTrendSerializer
    parameters = OF_JOB
