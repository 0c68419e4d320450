from rest_framework import serializers

from spark_jobs.serving import SKIPPED_INPUT
from webapp.lib.api.lists import ListView, listed
from webapp.lib.api.served import ServedSerializer
from webapp.work.filters import RunFilters, SkipFilters
from webapp.work.models import PipelineRun, SkippedInput


class PipelineRunSerializer(serializers.ModelSerializer[PipelineRun]):
    class Meta:
        model = PipelineRun
        fields = (
            "kind",
            "key",
            "attempt",
            "state",
            "started_at",
            "finished_at",
            "duration_ms",
            "counts",
            "error",
        )


class SkippedInputSerializer(ServedSerializer[SkippedInput]):
    class Meta:
        model, table = SkippedInput, SKIPPED_INPUT
        exclude = ("id",)


@listed(PipelineRunSerializer, "Runs of the pipeline, newest first")
class PipelineRunViews(ListView):
    queryset = PipelineRun.objects.defer("log_tail")
    filterset_class = RunFilters


@listed(SkippedInputSerializer, "Inputs that were skipped, newest first")
class SkippedInputViews(ListView):
    filterset_class = SkipFilters
