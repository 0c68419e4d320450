"""What Weir knows of checkpoint storage: its roots, the audits of them, and what those found."""

from webapp.storage.models.audits import StorageAudit
from webapp.storage.models.roots import StorageRoot

__all__ = ["StorageAudit", "StorageRoot"]
