"""Claiming due work: one conditional UPDATE decides, on SQLite and on PostgreSQL alike."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import F, Q, QuerySet

from ingest import log_lines
from webapp.work.lease import LONGEST_BACKOFF, Lease
from webapp.work.lease_holders import is_dead, me

if TYPE_CHECKING:
    from webapp.work.models import DueWork
else:
    DueWork = object

LEASE = timedelta(seconds=60)
"""Renewed every third of it while the work goes on; so a vanished holder is overtaken within a
minute.
"""

CLOCK_SLACK = timedelta(minutes=5)
"""By so much the clocks of two machines may differ without anybody meddling."""


class DueWorkQuerySet(QuerySet["DueWork"]):
    def ensure(self, intervals_s: Mapping[str, int], now: datetime) -> None:
        """Make rows that are missing and take over changed intervals; existing due times stay."""
        known = dict(self.filter(key__in=intervals_s).values_list("key", "interval_s"))
        missing = [
            self.model(key=key, interval_s=s, next_attempt_at=now)
            for key, s in intervals_s.items()
            if key not in known
        ]
        if missing:
            self.bulk_create(missing, ignore_conflicts=True)
        for key, interval_s in intervals_s.items():
            if known.get(key, interval_s) != interval_s:
                self.filter(key=key).update(interval_s=interval_s)

    def make_due(self, key: str, interval_s: int, at: datetime) -> None:
        """Work that was requested is due, however often it failed before; its run will name the
        request.
        """
        self.ensure({key: interval_s}, at)
        self.filter(key=key).update(
            next_attempt_at=at, failures=0, request_id=log_lines.request_id()
        )

    def mend(self, now: datetime) -> int:
        """Bring back what a clock that was set back since left far ahead: work is due, and a lease
        ends unless its holder still renews it.

        Returns how many rows. Nothing is ever put off for longer than its interval or the longest
        delay after a failure.
        """
        mended = 0
        for row in self.filter(Q(next_attempt_at__gt=now) | Q(lease_until__gt=now)):
            longest = max(timedelta(seconds=row.interval_s), LONGEST_BACKOFF) + CLOCK_SLACK
            if row.next_attempt_at > now + longest:
                mended += self.filter(pk=row.pk, next_attempt_at=row.next_attempt_at).update(
                    next_attempt_at=now
                )
            if row.lease_until and row.lease_until > now + LEASE + CLOCK_SLACK:
                mended += self.filter(
                    pk=row.pk, fence=row.fence, lease_until=row.lease_until
                ).update(lease_until=now + LEASE)
        return mended

    def due(self, now: datetime, by: datetime | None = None) -> "DueWorkQuerySet":
        """Rows whose time has come, or will have come ``by`` then, and which nobody holds."""
        return self.filter(
            Q(lease_until__isnull=True) | Q(lease_until__lt=now), next_attempt_at__lte=by or now
        )

    def claim(
        self, key: str, now: datetime, *, even_if_not_due: bool = False, lease: timedelta = LEASE
    ) -> "Lease | None":
        """Take the row, or ``None`` where it is held or its time has not come."""
        self.filter(key=key).release_from_the_dead()
        holder = me()
        free = self.filter(Q(lease_until__isnull=True) | Q(lease_until__lt=now), key=key)
        if not even_if_not_due:
            free = free.filter(next_attempt_at__lte=now)
        if not free.update(
            lease_until=now + lease, leased_by=holder, fence=F("fence") + 1, last_started_at=now
        ):
            return None
        row = self.filter(key=key, leased_by=holder).first()
        return Lease(row.key, row.fence, row.interval_s, lease) if row else None

    def release_from_the_dead(self) -> None:
        """A holder of this machine whose process is gone need not be waited for."""
        for key, holder, fence in self.filter(lease_until__isnull=False).values_list(
            "key", "leased_by", "fence"
        ):
            if holder and is_dead(holder):
                self.filter(key=key, fence=fence).update(lease_until=None)
