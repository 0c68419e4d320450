"""What an audit found of retained checkpoints and savepoints."""

from django.db import models

from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.storage.models.columns import MISSING_PATH_LENGTH, URI_LENGTH, Amplified, OfAudit


@scoped()
class CheckpointStorage(OfAudit, Amplified):
    """Serving table ``storage_checkpoint``: one whose ``_metadata`` was read."""

    metadata_path = models.CharField(max_length=URI_LENGTH)
    root = models.CharField(max_length=URI_LENGTH)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    checkpoint_id = models.BigIntegerField(null=True)
    is_savepoint = models.BooleanField()
    metadata_bytes = models.BigIntegerField(null=True)
    modified = models.DateTimeField(null=True)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    inline_bytes = models.BigIntegerField()
    own_files = models.BigIntegerField()
    own_bytes = models.BigIntegerField()
    foreign_files = models.BigIntegerField()
    foreign_bytes = models.BigIntegerField()
    missing_files = models.BigIntegerField()
    missing_bytes = models.BigIntegerField()
    self_contained = models.BooleanField()
    relocatable = models.BooleanField()
    resolvable = models.BooleanField(null=True)
    previous_path = models.TextField(null=True)
    shared_files = models.BigIntegerField(null=True)
    shared_bytes = models.BigIntegerField(null=True)
    shared_segments = models.BigIntegerField(null=True)
    shared_segment_bytes = models.BigIntegerField(null=True)
    new_files = models.BigIntegerField(null=True)
    new_bytes = models.BigIntegerField(null=True)
    new_segments = models.BigIntegerField(null=True)
    new_segment_bytes = models.BigIntegerField(null=True)
    dropped_files = models.BigIntegerField(null=True)
    dropped_bytes = models.BigIntegerField(null=True)
    dropped_segments = models.BigIntegerField(null=True)
    dropped_segment_bytes = models.BigIntegerField(null=True)
    verdict = models.CharField(max_length=32)
    successor_job_id = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path"], name="storage_checkpoint_key"
            )
        ]
        indexes = [
            models.Index(fields=["audit", "root", "-bytes", "-id"], name="storage_checkpoint_size"),
            models.Index(
                fields=["audit", "job_id", "checkpoint_id"], name="storage_checkpoint_of_job"
            ),
        ]

    def __str__(self) -> str:
        return self.metadata_path


@scoped_as("storage.StorageRoot", by="root", key="uri")
class MissingFile(OfAudit):
    """Serving table ``storage_missing``: a file that a checkpoint refers to and that is not
    there.
    """

    metadata_path = models.CharField(max_length=MISSING_PATH_LENGTH)
    path = models.CharField(max_length=MISSING_PATH_LENGTH)
    root = models.CharField(max_length=URI_LENGTH, blank=True)
    bytes = models.BigIntegerField(null=True)
    superseded = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path", "path"], name="storage_missing_key"
            )
        ]
        indexes = [models.Index(fields=["audit", "root", "id"], name="storage_missing_of_root")]

    def __str__(self) -> str:
        return self.path
