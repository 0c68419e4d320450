"""Writes as the web server does: sign-ins and changes to clusters, as fast as they go."""

import django

django.setup()


def main() -> None:
    from django.contrib.sessions.backends.db import SessionStore
    from django.utils import timezone

    from webapp.accounts.models import SignInFailures
    from webapp.fleet.models import Cluster

    number = 0
    while True:
        number += 1
        session = SessionStore()
        session["number"] = number
        session.save()
        SignInFailures.objects.update_or_create(
            subject=f"{number % 50}", defaults={"count": number, "window_start": timezone.now()}
        )
        Cluster.objects.filter(name="c").update(misses=[f"seen {number}"])


if __name__ == "__main__":
    main()
