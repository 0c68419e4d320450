"""Runs of the pipeline and what they passed over, over the API."""

from rest_framework import serializers

from webapp.lib.api.filtering import Parameter, time_window
from webapp.lib.api.lists import ListView, listed
from webapp.lib.keysets import KeysetColumn
from webapp.work.models import PipelineRun, SkippedInput


class PipelineRunSerializer(serializers.ModelSerializer[PipelineRun]):
    class Meta:
        model = PipelineRun
        fields = ("kind", "key", "attempt", "state", "started_at", "finished_at", "duration_ms", "counts", "error")


class SkippedInputSerializer(serializers.ModelSerializer[SkippedInput]):
    class Meta:
        model = SkippedInput
        exclude = ("id",)


@listed(PipelineRunSerializer, "Runs of the pipeline, newest first")
class PipelineRunViews(ListView):
    queryset = PipelineRun.objects.defer("log_tail")
    serializer_class = PipelineRunSerializer
    parameters = (
        Parameter("kind", "kind"),
        Parameter("key", "key"),
        Parameter("state", "state", choices=PipelineRun.State.values),
        *time_window("started_at"),
    )
    paging_keys = (KeysetColumn("started_at", descending=True), KeysetColumn("id", descending=True))


@listed(SkippedInputSerializer, "Inputs that were skipped, newest first")
class SkippedInputViews(ListView):
    queryset = SkippedInput.objects.all()
    serializer_class = SkippedInputSerializer
    parameters = (Parameter("cluster", "cluster"), Parameter("reason", "reason"), *time_window("observed_at"))
    paging_keys = (KeysetColumn("observed_at", descending=True), KeysetColumn("id", descending=True))
