"""What Weir knows of checkpoint storage: its roots, the audits of them, and what those found."""

from webapp.storage.models.audits import StorageAudit
from webapp.storage.models.checkpoints import CheckpointStorage, MissingFile
from webapp.storage.models.jobs import ChainLink, JobStorage
from webapp.storage.models.operator_states import OperatorStateSize
from webapp.storage.models.roots import StorageRoot
from webapp.storage.models.roots_audited import AuditDoubt, RootFigures, VerdictFigures
from webapp.storage.models.statements import StorageStatement

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
