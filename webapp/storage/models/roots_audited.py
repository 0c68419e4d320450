"""What an audit found in a root as a whole."""

from django.db import models

from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import scoped_as
from webapp.storage.models.columns import URI_LENGTH, Amplified, OfAudit, VerdictCounts


@scoped_as("storage.StorageRoot", by="root", key="uri")
class RootFigures(OfAudit, VerdictCounts, Amplified):
    """Serving table ``storage_root``: one root in one audit.

    Kept for years as the history of the root, one a day.
    """

    root = models.CharField(max_length=URI_LENGTH)
    as_of = models.DateTimeField()
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    metadata_files = models.BigIntegerField()
    checkpoints = models.BigIntegerField()
    replaced = models.BigIntegerField(null=True)
    unlisted = models.BigIntegerField()
    doubts = models.BigIntegerField()
    raw_bytes = models.BigIntegerField(null=True)
    cleanable = models.BooleanField()
    not_cleanable = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "root"], name="storage_root_key")]
        indexes = [models.Index(fields=["root", "-as_of"], name="storage_root_history")]

    def __str__(self) -> str:
        return f"{self.root} at {self.as_of:%Y-%m-%d %H:%M}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class VerdictFigures(OfAudit):
    """Serving table ``storage_verdict``: files of one root by verdict, reason and kind."""

    root = models.CharField(max_length=URI_LENGTH)
    verdict = models.CharField(max_length=32)
    reason = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    raw_bytes = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "root", "verdict", "reason", "kind"], name="storage_verdict_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.reason}: {self.files}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class AuditDoubt(OfAudit):
    """Serving table ``storage_doubt``: what could not be read or known, and how far it reaches."""

    subject = models.CharField(max_length=URI_LENGTH)
    reason = models.CharField(max_length=64)
    root = models.CharField(max_length=URI_LENGTH)
    detail = MessageField(null=True)
    reach = models.CharField(max_length=16)
    places = models.JSONField()
    more_places = models.BigIntegerField()
    blocked_files = models.BigIntegerField()
    blocked_bytes = models.BigIntegerField()
    statements = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "subject", "reason"], name="storage_doubt_key")
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"
