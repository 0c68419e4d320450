from django.db import models

from webapp.lib.scoped_rows import JobRow, scoped


@scoped()
class JobStart(JobRow):
    """Serving table ``job_start``."""

    at = models.DateTimeField()
    kind = models.CharField(max_length=16)
    begun_at = models.DateTimeField(null=True)
    deployed_at = models.DateTimeField()
    running_at = models.DateTimeField()
    total_ms = models.BigIntegerField(null=True)
    detect_ms = models.BigIntegerField(null=True)
    graph_ms = models.BigIntegerField(null=True)
    cancel_ms = models.BigIntegerField(null=True)
    wait_ms = models.BigIntegerField(null=True)
    failed_attempts_ms = models.BigIntegerField(null=True)
    slots_ms = models.BigIntegerField()
    deploy_ms = models.BigIntegerField()
    restore_ms = models.BigIntegerField(null=True)
    restarts = models.BigIntegerField(null=True)
    failure = models.TextField(null=True)
    lost_taskmanagers = models.BigIntegerField(null=True)
    restored_checkpoint_id = models.BigIntegerField(null=True)
    restored_is_savepoint = models.BooleanField(null=True)
    restored_path = models.TextField(null=True)
    tasks = models.BigIntegerField()
    taskmanagers = models.BigIntegerField(null=True)
    hosts = models.BigIntegerField(null=True)
    stragglers = models.BigIntegerField()
    held_up_ms = models.BigIntegerField()
    reported_by = models.CharField(max_length=16)
    detail = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "at"], name="job_start_key")
        ]
        indexes = [models.Index(fields=["at"], name="start_age")]
