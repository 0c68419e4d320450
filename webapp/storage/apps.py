from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_delete


class StorageConfig(AppConfig):
    name = "webapp.storage"

    def ready(self) -> None:
        pre_delete.connect(_withdraw_attestations, "fleet.Cluster", dispatch_uid="attestations")


def _withdraw_attestations(instance: Any, **_: object) -> None:
    """Withdraw attestations of the cluster's roots: they would seem to be for the other clusters."""
    from webapp.storage.models import StorageRoot

    # The user who removes the cluster may not see the other clusters.
    StorageRoot._base_manager.filter(clusters=instance).update(
        attested_at=None, attested_name="", attested_by=None
    )
