"""Stored values of flame graphs with their words."""

from django.db import models


class FlameGraphState(models.TextChoices):
    """What became of the last request; those that Flink reports as in :class:`ingest.flink_rest.payloads.flame_graph.FlameGraphState`."""

    WANTED = "wanted", "not answered yet"
    SAMPLING = "sampling", "being sampled"
    SAMPLED = "sampled", "sampled"
    OFF = "off", "not switched on"
    ENDED = "ended", "its tasks have ended"
    FAILED = "failed", "no answer"
