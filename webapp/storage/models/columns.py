"""Columns that several tables of an audit share.

Texts in keys are bounded, so that an index can hold them; the loader cuts longer ones.
"""

from django.db import models

URI_LENGTH = 1000
MISSING_PATH_LENGTH = 600
"""Two of them and an audit's name are one key, and PostgreSQL indexes 2,700 bytes."""


class OfAudit(models.Model):
    """A row of one audit; it goes with it."""

    audit = models.ForeignKey(
        "storage.StorageAudit", to_field="audit_id", on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        abstract = True


class VerdictCounts(models.Model):
    """Files and bytes of each verdict."""

    live_files = models.BigIntegerField()
    live_bytes = models.BigIntegerField()
    retained_waste_files = models.BigIntegerField()
    retained_waste_bytes = models.BigIntegerField()
    orphan_files = models.BigIntegerField()
    orphan_bytes = models.BigIntegerField()
    recent_files = models.BigIntegerField()
    recent_bytes = models.BigIntegerField()
    kept_files = models.BigIntegerField()
    kept_bytes = models.BigIntegerField()
    missing_files = models.BigIntegerField()
    missing_bytes = models.BigIntegerField()

    class Meta:
        abstract = True


class Amplified(models.Model):
    """Merged files: what they take on disk, and what of it something still refers to."""

    segmented_files = models.BigIntegerField()
    segmented_file_bytes = models.BigIntegerField()
    live_segment_bytes = models.BigIntegerField()

    class Meta:
        abstract = True

    @property
    def amplification(self) -> float | None:
        """Bytes on disk per byte that is needed; ``None`` without merged files."""
        return (
            self.segmented_file_bytes / self.live_segment_bytes if self.live_segment_bytes else None
        )
