"""Django's command, with an entry in the audit log."""

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword

from webapp.accounts.audit.commands import learn
from webapp.config.preparation import PreparedCommand


class Command(PreparedCommand, changepassword.Command):
    help = (
        "Set a new password for a local account; enter it twice. The audit log gets an entry. Exit "
        "code 0, or 1."
    )

    def handle(self, *args: Any, **options: Any) -> str | None:
        learn(username=options["username"] or getpass.getuser())
        return super().handle(*args, **options)
