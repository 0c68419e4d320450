"""``python -m webapp.supervisor.prepare``: the database up to date, an administrator and the demo in it; prints how to sign in."""

import django
from django.conf import settings
from django.core.management import call_command


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("ensure_admin")
    from webapp.fleet import demo  # models exist after the set-up alone

    if settings.WEIR.demo and not demo.is_removed():
        demo.watch()
    else:
        demo.pause()


if __name__ == "__main__":
    main()
