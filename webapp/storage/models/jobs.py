"""What an audit found of jobs: their directories, and which job needs files of which other."""

from django.db import models

from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.storage.models.columns import URI_LENGTH, Amplified, OfAudit, VerdictCounts


@scoped()
class JobStorage(OfAudit, VerdictCounts, Amplified):
    """Serving table ``storage_job``: the directories of one job in one root. ``cluster`` is empty where nobody reported the job."""

    root = models.CharField(max_length=URI_LENGTH)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    job_name = models.TextField(null=True)
    terminal = models.BooleanField(null=True)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    raw_bytes = models.BigIntegerField(null=True)
    small_files = models.BigIntegerField()
    foreign_files = models.BigIntegerField()
    foreign_bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()
    newest_checkpoint_id = models.BigIntegerField(null=True)
    newest_modified = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "root", "cluster", "job_id"], name="storage_job_key")]
        indexes = [
            models.Index(fields=["audit", "root", "-bytes", "-id"], name="storage_job_size"),
            models.Index(fields=["audit", "root", "-orphan_bytes", "-id"], name="storage_job_orphans"),
            models.Index(fields=["cluster", "job_id", "audit"], name="storage_of_job"),
        ]

    def __str__(self) -> str:
        return f"{self.job_name or self.job_id} in {self.root}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class ChainLink(OfAudit):
    """Serving table ``storage_chain``: ``job_id`` depends on ``other_job_id``."""

    root = models.CharField(max_length=URI_LENGTH, blank=True)
    job_id = models.CharField(max_length=64)
    other_job_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "root", "job_id", "other_job_id", "kind"], name="storage_chain_key")]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind} {self.other_job_id}"
