import secrets
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError

from webapp.accounts.models import User
from webapp.config.preparation import PreparedCommand
from webapp.config.secrets import read_or_create

NAME = "admin"


class Command(PreparedCommand):
    help = (
        "Create the administrator 'admin' if there is none, and print user name and password. Exit "
        "code 0."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=NAME).first()
        has_other_admin = (
            User.objects.filter(is_superuser=True, is_active=True).exclude(username=NAME).exists()
        )
        password = None
        if user is None and not has_other_admin:
            password = read_or_create(
                settings.WEIR.home, "admin_password", lambda: secrets.token_urlsafe(15)
            )
            try:
                User.objects.create_superuser(NAME, password=password)
            except ValidationError as error:
                why, password = " ".join(error.messages), None
                self.stderr.write(
                    f"There is no administrator, and {NAME} was not made. {why} Make one: "
                    "manage.py createsuperuser"
                )
        elif user is not None:
            file = settings.WEIR.home / "secrets" / "admin_password"
            text = file.read_text().strip() if file.is_file() else ""
            password = text if text and user.check_password(text) else None
        if password:
            self.stdout.write(f"Sign in as {NAME} with password {password}")
        elif user or has_other_admin:
            self.stdout.write(
                f"Sign in as {NAME} with the password you gave it"
                if user
                else "Sign in with your own administrator"
            )
