"""The pipeline keeps no rows of its own; the label of its name is that of the rows of due work."""

from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "webapp.pipeline"
    label = "processing"
