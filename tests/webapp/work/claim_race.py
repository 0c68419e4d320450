"""One of several processes that claim the same rows at the same time; prints the keys it got."""

import sys
import time

import django

django.setup()


def main() -> None:
    from django.utils import timezone

    from webapp.work.models import DueWork

    start_at = float(sys.argv[1])
    keys = list(DueWork.objects.values_list("key", flat=True))
    time.sleep(max(0.0, start_at - time.time()))
    for key in keys:
        lease = DueWork.objects.claim(key, timezone.now())
        if lease:
            assert lease.complete(timezone.now())
            print(key)


if __name__ == "__main__":
    main()
