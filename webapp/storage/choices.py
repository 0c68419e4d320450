from django.db import models

from webapp.lib.translations import gettext_lazy as _


class RootKind(models.TextChoices):
    """What Flink writes below a root.

    Files of high availability are read for references and never cleaned.
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
    """Who requested an audit: the schedule, a person at the command line, or a clean-up plan that
    is checked again.
    """

    SCHEDULED = "scheduled", _("scheduled")
    COMMAND = "command", _("asked for")
    PLAN = "plan", _("re-check of a plan")


class StatementKind(models.TextChoices):
    """What an operator can state so that a doubt ends (``spark_jobs.storage_words.STATEMENTS``)."""

    DEAD_JOB = "dead_job", _("dead job")
    EXCLUDED = "excluded", _("excluded directory")
    FOREIGN_FILE = "foreign_file", _("no checkpoint")
