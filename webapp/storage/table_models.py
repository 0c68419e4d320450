from django.db import models

from webapp.storage.models import (
    AuditDoubt,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    OperatorStateSize,
    RootFigures,
    VerdictFigures,
)

AUDIT_MODELS: dict[str, type[models.Model]] = {
    "storage_root": RootFigures,
    "storage_verdict": VerdictFigures,
    "storage_job": JobStorage,
    "storage_checkpoint": CheckpointStorage,
    "storage_operator_state": OperatorStateSize,
    "storage_chain": ChainLink,
    "storage_missing": MissingFile,
    "storage_doubt": AuditDoubt,
}
