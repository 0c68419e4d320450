from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError
from django.db import IntegrityError


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        """Django checks whether a name is taken before NFKC folds spellings into one."""
        try:
            super().handle(*args, **options)
        except IntegrityError as error:
            raise CommandError("Somebody has this name already. Choose another.") from error
