"""Storage says how often each byte of a checkpoint is kept."""

from django.apps import AppConfig


class StorageConfig(AppConfig):
    name = "webapp.storage"

    def ready(self) -> None:
        from webapp.checkpoints import replicated
        from webapp.storage.replication_factor import (
            factor_of_path,
        )  # models are loaded by now, and not before

        replicated.register(factor_of_path)
