"""What an audit found of merged files that are needed in part only."""

from django.db import models

from webapp.lib.scoped_rows import scoped_as
from webapp.storage.models.columns import URI_LENGTH, OfAudit


@scoped_as("storage.StorageRoot", by="root", key="uri")
class MergedFile(OfAudit):
    """Serving table ``storage_merged_file``: the files of a root with most bytes that no retained
    checkpoint needs.
    """

    path = models.CharField(max_length=URI_LENGTH)
    root = models.CharField(max_length=URI_LENGTH)
    job_id = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField()
    live_segment_bytes = models.BigIntegerField()
    unused_bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "path"], name="storage_merged_file_key")
        ]
        indexes = [
            models.Index(
                fields=["audit", "root", "-unused_bytes", "id"], name="storage_merged_file_unused"
            )
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def amplification(self) -> float | None:
        """Bytes on disk per byte that is needed."""
        return self.bytes / self.live_segment_bytes if self.live_segment_bytes else None
