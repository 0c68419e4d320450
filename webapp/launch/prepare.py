"""``python -m webapp.launch.prepare``: updates the database, creates an administrator and the demo,
and prints how to sign in.
"""

import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError
from django.utils import timezone

from webapp.config.damaged_database import is_damaged, repair_advice


def main() -> None:
    django.setup()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("ensure_admin")
    from webapp.fleet import demo  # models exist only after the set-up
    from webapp.site import demo_tour

    if settings.WEIR.demo and not demo.is_removed():
        demo.register_clusters()
        return
    demo.pause()
    if demo_tour.was_begun():
        demo_tour.remove(timezone.now())


if __name__ == "__main__":
    try:
        main()
    except DatabaseError as error:
        if not is_damaged(error):
            raise
        sys.exit(repair_advice(error))
