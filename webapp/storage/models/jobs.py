"""What an audit found of jobs: their directories, and which job needs files of which other."""

from django.db import models

from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.storage.models.columns import (
    MISSING_PATH_LENGTH,
    URI_LENGTH,
    Amplified,
    OfAudit,
    VerdictCounts,
)


@scoped()
class JobStorage(OfAudit, VerdictCounts, Amplified):
    """Serving table ``storage_job``: one job's directory.

    ``cluster`` is empty unless it alone is known to write there.
    """

    directory = models.CharField(max_length=URI_LENGTH)
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
        constraints = [
            models.UniqueConstraint(fields=["audit", "directory"], name="storage_job_key")
        ]
        indexes = [
            models.Index(fields=["audit", "root", "-bytes", "-id"], name="storage_job_size"),
            models.Index(
                fields=["audit", "root", "-orphan_bytes", "-id"], name="storage_job_orphans"
            ),
            models.Index(fields=["cluster", "job_id", "audit"], name="storage_of_job"),
        ]

    def __str__(self) -> str:
        return f"{self.job_name or self.job_id} in {self.root}"

    @property
    def below_root(self) -> str:
        """Its directory as a path relative to the root."""
        return self.directory.removeprefix(self.root).lstrip("/")


@scoped_as("storage.StorageRoot", by="root", key="uri")
class ChainLink(OfAudit):
    """Serving table ``storage_chain``: the job in ``directory`` depends on that in
    ``other_directory``.

    ``directory`` is empty where nobody knows where the job writes.
    """

    directory = models.CharField(max_length=MISSING_PATH_LENGTH, blank=True)
    other_directory = models.CharField(max_length=MISSING_PATH_LENGTH)
    root = models.CharField(max_length=URI_LENGTH, blank=True)
    job_id = models.CharField(max_length=64)
    other_job_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "directory", "job_id", "other_directory", "kind"],
                name="storage_chain_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind} {self.other_job_id}"

    @property
    def end(self) -> str:
        """What tells the depending job from all others: its directory, else its id."""
        return self.directory or self.job_id
