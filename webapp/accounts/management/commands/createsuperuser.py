"""Django's command, with an entry in the audit log."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError
from django.db import IntegrityError
from django.db.models.signals import post_save

from webapp.accounts.audit.commands import learn
from webapp.accounts.models import User
from webapp.config.preparation import PreparedCommand


class Command(PreparedCommand, createsuperuser.Command):
    help = (
        "Create an administrator who sees and may do everything, with name and password. The audit "
        "log gets an entry. Exit code 0, or 1."
    )

    def handle(self, *args: Any, **options: Any) -> str | None:
        """The name may be asked for, or come from the environment: whoever was made tells it."""
        post_save.connect(_made, sender=User)
        try:
            return super().handle(*args, **options)
        except (
            IntegrityError
        ):  # Django looks for the name as it was entered, and makes its usual form of it afterwards
            raise CommandError("There is already a person with this name.") from None
        finally:
            post_save.disconnect(_made, sender=User)


def _made(instance: User, created: bool, **_about: Any) -> None:
    if created:
        learn(username=instance.username, role="admin")
