"""Storage says how often each byte of a checkpoint is kept."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_delete


class StorageConfig(AppConfig):
    name = "webapp.storage"

    def ready(self) -> None:
        from webapp.checkpoints import replicated
        from webapp.storage.replication_factor import (
            factor_of_path,
        )  # models are loaded by now, and not before

        replicated.register(factor_of_path)
        pre_delete.connect(_withdraw_attestations, "fleet.Cluster", dispatch_uid="attestations")


def _withdraw_attestations(instance: Any, **_: object) -> None:
    """A root of several clusters would look as if it were of those alone that are left."""
    from webapp.storage.models import StorageRoot

    # Whoever removes the cluster need not see the other ones.
    StorageRoot._base_manager.filter(clusters=instance).update(
        attested_at=None, attested_name="", attested_by=None
    )
