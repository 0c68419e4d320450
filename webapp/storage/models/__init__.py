"""What Weir knows of checkpoint storage: its roots, the audits of them, and what those found."""

from webapp.storage.models.audits import (
    AuditDoubt,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    OperatorStateSize,
    RootFigures,
    StorageAudit,
    StorageRoot,
    StorageStatement,
    VerdictFigures,
)

__all__ = [
    "AuditDoubt",
    "ChainLink",
    "CheckpointStorage",
    "JobStorage",
    "MissingFile",
    "OperatorStateSize",
    "RootFigures",
    "StorageAudit",
    "StorageRoot",
    "StorageStatement",
    "VerdictFigures",
]
