"""Work of storage from the command line: recorded and leased like that of the workers, one at a
time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.utils import timezone

from ingest.errors import IngestError
from webapp.config.preparation import REFUSED
from webapp.storage.auditing.work_keys import BY_HAND
from webapp.work.lease import Lease
from webapp.work.models import DueWork
from webapp.work.registry import DAY_S
from webapp.work.runs import RunRecord, describe, recorded


@contextmanager
def by_hand(say: Callable[[str], None]) -> Iterator[tuple[Lease, RunRecord]]:
    """Raises ``CommandError`` with the exit code that fits what went wrong."""
    DueWork.objects.ensure({BY_HAND: DAY_S}, timezone.now())
    lease = DueWork.objects.claim(BY_HAND, timezone.now(), even_if_not_due=True)
    if lease is None:
        raise CommandError(
            "Another command works on storage at this moment; wait for it.", returncode=1
        )
    try:
        with lease.kept_alive(), recorded(lease, "storage", say) as record:
            yield lease, record
    except BaseException as error:
        lease.fail(timezone.now(), describe(error))
        if not isinstance(error, Exception):
            raise
        raise CommandError(
            describe(error), returncode=REFUSED if isinstance(error, IngestError) else 1
        ) from error
    lease.complete(timezone.now())
