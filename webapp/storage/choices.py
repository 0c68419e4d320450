"""Stored values of the storage pages with their words: one class per choice."""

from django.db import models

from spark_jobs.storage_words import DEAD_JOB, EXCLUDED, FOREIGN_FILE
from webapp.lib.translations import gettext_lazy as _


class RootKind(models.TextChoices):
    """What Flink writes below a root.

    Files of high availability are read for references and never a candidate.
    """

    CHECKPOINTS = "checkpoints", _("checkpoints")
    SAVEPOINTS = "savepoints", _("savepoints")
    HIGH_AVAILABILITY = "high_availability", _("high availability")


class AuditState(models.TextChoices):
    RUNNING = "running", _("running")
    WRITTEN = "written", _("written, not loaded yet")
    LOADED = "loaded", _("loaded")
    FAILED = "failed", _("failed")


class AuditPurpose(models.TextChoices):
    """Who asked for an audit: the schedule, a person at the command line, or a plan that checks
    itself again.
    """

    SCHEDULED = "scheduled", _("scheduled")
    COMMAND = "command", _("asked for")
    PLAN = "plan", _("re-check of a plan")


class StatementKind(models.TextChoices):
    """What an operator can state so that a doubt ends (``spark_jobs.storage_words.STATEMENTS``)."""

    DEAD_JOB = DEAD_JOB, _("dead job")
    EXCLUDED = EXCLUDED, _("excluded directory")
    FOREIGN_FILE = FOREIGN_FILE, _("no checkpoint")


class SimulationState(models.TextChoices):
    ASKED = "asked", _("asked for")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
