"""Which deliveries are due, and claiming them: one conditional UPDATE decides, on SQLite and on
PostgreSQL alike.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, F, Min, Q, QuerySet

from webapp.delivery.choices import DeliveryState
from webapp.work.lease_holders import is_dead

if TYPE_CHECKING:
    from webapp.delivery.models import Delivery
else:
    Delivery = object

ALWAYS_SENT = ("test", "endpoint_disabled")
LEASE = timedelta(seconds=60)
"""An attempt takes 15 s at most and then one short write; a holder that takes longer is gone."""


class DeliveryQuerySet(QuerySet["Delivery"]):
    def listed(self) -> "DeliveryQuerySet":
        """Without their payloads, which are large."""
        return self.defer("payload").select_related("endpoint")

    def pending(self) -> "DeliveryQuerySet":
        return self.filter(state=DeliveryState.PENDING)

    def due(self, now: datetime) -> "DeliveryQuerySet":
        """Its time has come and nobody is at it."""
        free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
        return self.pending().filter(free, next_attempt_at__lte=now)

    def sendable(self, now: datetime) -> "DeliveryQuerySet":
        """Due, and its endpoint takes it: a disabled one only hears tests and that it is disabled,
        one that asked for a pause is left alone.
        """
        takes = Q(endpoint__enabled=True) | Q(kind__in=ALWAYS_SENT)
        rested = (
            Q(endpoint__paused_until__isnull=True)
            | Q(endpoint__paused_until__lte=now)
            | Q(kind__in=ALWAYS_SENT)
        )
        return self.due(now).filter(takes, rested)

    def endpoints_waiting(self, now: datetime) -> list[int]:
        """Those with something to be sent now, the one that waited longest first."""
        waiting = (
            self.sendable(now)
            .order_by()
            .values("endpoint_id")
            .annotate(since=Min("next_attempt_at"))
        )
        return [row["endpoint_id"] for row in waiting.order_by("since", "endpoint_id")]

    def waiting_by_endpoint(self, endpoints: Collection[int]) -> dict[int, int]:
        """How many wait, by endpoint; those of which none waits are missing."""
        waiting = (
            self.pending()
            .filter(endpoint__in=endpoints)
            .order_by()
            .values("endpoint_id")
            .annotate(waiting=Count("id"))
        )
        return {row["endpoint_id"]: row["waiting"] for row in waiting}

    def claim(self, pks: Collection[int], holder: str, now: datetime) -> int:
        """Take those of ``pks`` that are still due; ``holder`` is a name nobody else has.

        Returns how many.
        """
        if not pks:
            return 0
        return (
            self.due(now)
            .filter(pk__in=pks)
            .update(lease_until=now + LEASE, leased_by=holder, fence=F("fence") + 1)
        )

    def held_by(self, holder: str) -> "list[Delivery]":
        """In the order they were made."""
        return list(
            self.pending()
            .filter(leased_by=holder, lease_until__isnull=False)
            .select_related("endpoint")
            .order_by("id")
        )

    def release_from_the_dead(self) -> int:
        """What a process of this machine held that is gone need not be waited for."""
        held = self.pending().filter(lease_until__isnull=False).exclude(leased_by="")
        holders = held.order_by().values_list("leased_by", flat=True).distinct()
        gone = [holder for holder in holders if is_dead(holder)]
        return held.filter(leased_by__in=gone).update(lease_until=None, leased_by="") if gone else 0
