"""Bring all stored secrets under the first key of WEIR_FIELD_KEYS."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import transaction

from webapp.config import encryption
from webapp.config.preparation import PreparedCommand
from webapp.fleet.models import Cluster


class Command(PreparedCommand):
    help = (
        "Encrypt the secrets of all clusters with the first key of WEIR_FIELD_KEYS, so that the other keys can be dropped. "
        "Exit code 0, or 1 where a secret fits none of the keys."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        lost = []
        with transaction.atomic():
            clusters = list(Cluster.objects.exclude(auth_secret_encrypted="").only("name", "auth_secret_encrypted").select_for_update())
            for cluster in clusters:
                try:
                    cluster.auth_secret_encrypted = encryption.encrypt_anew(cluster.auth_secret_encrypted)
                except ImproperlyConfigured:
                    lost.append(cluster.name)
                else:
                    cluster.save(update_fields=["auth_secret_encrypted"])
        self.stdout.write(f"{len(clusters) - len(lost)} secrets are encrypted with the first key.")
        if lost:
            raise CommandError(f"No key fits the secrets of {', '.join(lost)}; enter them anew.", returncode=1)
