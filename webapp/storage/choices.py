"""Stored values of the storage pages with their words: one class per choice."""

from django.db import models


class RootKind(models.TextChoices):
    """What Flink writes below a root. Files of high availability are read for references and never a candidate."""

    CHECKPOINTS = "checkpoints", "checkpoints"
    SAVEPOINTS = "savepoints", "savepoints"
    HIGH_AVAILABILITY = "high_availability", "high availability"


class AuditState(models.TextChoices):
    RUNNING = "running", "running"
    WRITTEN = "written", "written, not loaded yet"
    LOADED = "loaded", "loaded"
    FAILED = "failed", "failed"


class AuditPurpose(models.TextChoices):
    """Who asked for an audit: the schedule, a person at the command line, or a plan that checks itself again."""

    SCHEDULED = "scheduled", "scheduled"
    COMMAND = "command", "asked for"
    PLAN = "plan", "re-check of a plan"


class SimulationState(models.TextChoices):
    ASKED = "asked", "asked for"
    DONE = "done", "done"
    FAILED = "failed", "failed"
