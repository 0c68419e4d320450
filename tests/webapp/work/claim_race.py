"""One of several processes that claim the same rows at the same time; prints the keys it got.

It says when it is ready, and begins when it is told a line.
"""

import sys

import django

django.setup()


def main() -> None:
    from django.utils import timezone

    from webapp.work.models import DueWork

    keys = list(DueWork.objects.values_list("key", flat=True))
    print("ready", flush=True)
    sys.stdin.readline()
    for key in keys:
        lease = DueWork.objects.claim(key, timezone.now())
        if lease:
            assert lease.complete(timezone.now())
            print(key)


if __name__ == "__main__":
    main()
