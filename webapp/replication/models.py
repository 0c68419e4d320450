from django.db import models

from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import scoped
from webapp.storage.models import URI_LENGTH


@scoped()
class Replica(models.Model):
    """The copy of one job's checkpoints. ``name`` is written into the copy. Fields after
    ``trouble`` describe the newest complete copy; they are empty before the first.
    """

    name = models.CharField(max_length=64, unique=True)
    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    source = models.CharField(max_length=URI_LENGTH, help_text="directory of the job, canonical")
    destination = models.CharField(max_length=1000, unique=True, help_text="as Flink is to read it")
    read_at = models.CharField(
        max_length=1000, blank=True, help_text="where Weir writes it, if elsewhere"
    )
    every_s = models.PositiveIntegerField(help_text="between two looks for a newer checkpoint")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    created_name = models.CharField(max_length=200, help_text="who asked for it")
    asker_clusters = models.JSONField(
        null=True, default=list, help_text="clusters whose roots it may read; null: all"
    )
    changed_at = models.DateTimeField(null=True, help_text="of the last order")
    changed_name = models.CharField(max_length=200, blank=True, help_text="who gave the last order")
    tried_at = models.DateTimeField(null=True, help_text="end of the last try")
    trouble = MessageField(blank=True, help_text="why the last try failed")
    checkpoint_id = models.BigIntegerField(null=True)
    triggered_at = models.DateTimeField(
        null=True, help_text="of that checkpoint, or where unknown when its _metadata was written"
    )
    completed_at = models.DateTimeField(null=True, help_text="when the copy was complete")
    location = models.CharField(max_length=URI_LENGTH, blank=True)
    files = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id"], name="replica_of_job")]
        ordering = ["cluster", "job_id"]

    def __str__(self) -> str:
        return f"copy of {self.job_id} at {self.destination}"
