"""Stored values of thread dumps and flame graphs with their words."""

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class ThreadDumpState(models.TextChoices):
    """What became of the last request."""

    WANTED = "wanted", _("not answered yet")
    TAKEN = "taken", _("taken")
    FAILED = "failed", _("no answer")


class FlameGraphState(models.TextChoices):
    """What became of the last request; those that Flink reports as in
    :class:`ingest.flink_rest.payloads.flame_graph.FlameGraphState`.
    """

    WANTED = "wanted", _("not answered yet")
    SAMPLING = "sampling", _("being sampled")
    SAMPLED = "sampled", _("sampled")
    OFF = "off", _("not switched on")
    ENDED = "ended", _("its tasks have ended")
    FAILED = "failed", _("no answer")
