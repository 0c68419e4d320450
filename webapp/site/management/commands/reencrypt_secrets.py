from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import transaction

from webapp.config import encryption
from webapp.config.preparation import PreparedCommand
from webapp.delivery.models import Endpoint
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import SECRETS

ENCRYPTED_FIELDS: list[tuple[Any, list[str]]] = [
    (Cluster, [*SECRETS]),
    (
        Endpoint,
        ["url_encrypted", "credential_encrypted", "secret_encrypted", "previous_secret_encrypted"],
    ),
]
"""All encrypted fields of the database."""


class Command(PreparedCommand):
    help = (
        "Encrypt the secrets of all clusters and endpoints with the first key of WEIR_FIELD_KEYS, "
        "so that you can remove the other keys. "
        "Exit code 0, or 1 if none of the keys can decrypt a secret."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        done, lost = 0, []
        with transaction.atomic():
            for model, fields in ENCRYPTED_FIELDS:
                for row in model.objects.only("name", *fields).select_for_update():
                    filled = [field for field in fields if getattr(row, field)]
                    try:
                        for field in filled:
                            setattr(
                                row,
                                field,
                                encryption.encrypt(encryption.decrypt(getattr(row, field))),
                            )
                    except ImproperlyConfigured:
                        lost.append(row.name)
                    else:
                        done += len(filled)
                        model.objects.filter(pk=row.pk).update(
                            **{field: getattr(row, field) for field in filled}
                        )
        self.stdout.write(f"{done} secrets are encrypted with the first key.")
        if lost:
            raise CommandError(f"No key fits the secrets of {', '.join(lost)}; enter them again.")
