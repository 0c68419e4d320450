"""``python -m webapp.supervisor.prepare``: the database up to date and an administrator in it; prints how to sign in."""

import django
from django.core.management import call_command


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("ensure_admin")


if __name__ == "__main__":
    main()
