"""What an audit found of operator state in retained checkpoints and savepoints."""

from django.db import models

from webapp.lib.scoped_rows import scoped
from webapp.storage.models.columns import URI_LENGTH, OfAudit


@scoped()
class OperatorStateSize(OfAudit):
    """Serving table ``storage_operator_state``: one operator in one checkpoint; operators with
    little operator state have none.
    """

    metadata_path = models.CharField(max_length=URI_LENGTH)
    operator_id = models.CharField(max_length=64)
    root = models.CharField(max_length=URI_LENGTH)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    checkpoint_id = models.BigIntegerField(null=True)
    is_savepoint = models.BooleanField()
    modified = models.DateTimeField(null=True)
    operator_name = models.TextField(null=True)
    subtasks = models.BigIntegerField()
    operator_bytes = models.BigIntegerField()
    keyed_bytes = models.BigIntegerField()
    files = models.BigIntegerField()
    elements = models.BigIntegerField()
    union_elements = models.BigIntegerField()
    broadcast_elements = models.BigIntegerField()
    states = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path", "operator_id"], name="storage_operator_state_key"
            )
        ]
        indexes = [models.Index(fields=["job_id", "audit"], name="storage_operator_state_of_job")]

    def __str__(self) -> str:
        return f"{self.operator_id} in {self.metadata_path}"
