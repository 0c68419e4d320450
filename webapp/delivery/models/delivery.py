"""The outbox: one row per notice and endpoint, in the transaction that changes the alerts."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models

from webapp.delivery.choices import DeliveryState
from webapp.delivery.models.endpoint import Endpoint
from webapp.delivery.notices import Notice
from webapp.lib.scoped_rows import scoped, scoped_as
from webapp.work.lease import is_dead
from webapp.work.models import CLOCK_SLACK

ALWAYS_SENT = ("test", "endpoint_disabled")
LEASE = timedelta(seconds=60)
"""An attempt takes at most 15 s and a write."""


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def listed(self) -> "DeliveryQuerySet":
        return self.defer("payload").select_related("endpoint")

    def pending(self) -> "DeliveryQuerySet":
        return self.filter(state=DeliveryState.PENDING)

    def due(self, now: datetime) -> "DeliveryQuerySet":
        free = models.Q(lease_until__isnull=True) | models.Q(lease_until__lt=now)
        return self.pending().filter(free, next_attempt_at__lte=now)

    def sendable(self, now: datetime) -> "DeliveryQuerySet":
        """Due deliveries; to a disabled or paused endpoint only :data:`ALWAYS_SENT`."""
        is_paused = models.Q(endpoint__paused_until__gt=now)
        takes = models.Q(endpoint__enabled=True) & ~is_paused
        return self.due(now).filter(takes | models.Q(kind__in=ALWAYS_SENT))

    def endpoints_waiting(self, now: datetime) -> list[int]:
        """Endpoints with sendable deliveries, the longest waiting first."""
        waiting = (
            self.sendable(now)
            .order_by()
            .values("endpoint_id")
            .annotate(since=models.Min("next_attempt_at"))
        )
        return [row["endpoint_id"] for row in waiting.order_by("since", "endpoint_id")]

    def waiting_by_endpoint(self, endpoints: Collection[int]) -> dict[int, int]:
        waiting = (
            self.pending()
            .filter(endpoint__in=endpoints)
            .order_by()
            .values("endpoint_id")
            .annotate(waiting=models.Count("id"))
        )
        return {row["endpoint_id"]: row["waiting"] for row in waiting}

    def claim(self, pks: Collection[int], holder: str, now: datetime) -> int:
        """Claims those of ``pks`` that are still due; returns how many. ``holder``: a unique name."""
        if not pks:
            return 0
        return (
            self.due(now)
            .filter(pk__in=pks)
            .update(lease_until=now + LEASE, leased_by=holder, fence=models.F("fence") + 1)
        )

    def held_by(self, holder: str) -> "list[Delivery]":
        return list(
            self.pending()
            .filter(leased_by=holder, lease_until__isnull=False)
            .select_related("endpoint")
            .order_by("id")
        )

    def mend(self, now: datetime) -> int:
        """After a clock was set back: deliveries of the future become due, leases end normally.
        Returns the number of rows.
        """
        latest, pending = now + CLOCK_SLACK, self.pending()
        last_tried = Attempt.objects.filter(
            delivery=models.OuterRef("pk"), number=models.OuterRef("attempts"), at__gt=latest
        )
        corrected = pending.filter(lease_until__gt=latest + LEASE).update(lease_until=now + LEASE)
        future_deliveries = pending.filter(next_attempt_at__gt=latest)
        corrected += future_deliveries.filter(models.Exists(last_tried)).update(next_attempt_at=now)
        return corrected + pending.filter(made_at__gt=latest).update(
            made_at=now, next_attempt_at=now
        )

    def release_from_the_dead(self) -> int:
        leased = self.pending().filter(lease_until__isnull=False).exclude(leased_by="")
        holders = leased.order_by().values_list("leased_by", flat=True).distinct()
        dead = [holder for holder in holders if is_dead(holder)]
        if not dead:
            return 0
        return leased.filter(leased_by__in=dead).update(lease_until=None, leased_by="")


@scoped()
class Delivery(models.Model):
    """``uid`` is the ``webhook-id``, the same in retries and replays. A process that sends has a
    lease until ``lease_until``; ``fence`` grows with every claim, so that a former holder cannot
    write.
    """

    uid = models.CharField(max_length=64, unique=True)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries")
    mail_to = models.EmailField(
        blank=True, help_text="by mail to this person instead of to the endpoint"
    )
    notice_uid = models.CharField(max_length=64)
    kind = models.CharField(max_length=24)
    group = models.CharField(max_length=300)
    cluster = models.CharField(max_length=100, blank=True)
    title = models.CharField(max_length=300)
    payload = models.TextField(help_text="the notice as JSON, as it is sent to this endpoint")
    made_at = models.DateTimeField()

    state = models.CharField(
        max_length=16, choices=DeliveryState.choices, default=DeliveryState.PENDING
    )
    next_attempt_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    leased_by = models.CharField(max_length=200, blank=True)
    fence = models.BigIntegerField(default=0)
    tries = models.PositiveIntegerField(
        default=0, help_text="since it was made or replayed: its place in the schedule"
    )
    attempts = models.PositiveIntegerField(default=0, help_text="in all")
    ended_at = models.DateTimeField(
        null=True, help_text="when it was delivered, or failed for the last time"
    )
    last_error = models.CharField(max_length=300, blank=True)

    objects: ClassVar = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["notice_uid", "endpoint", "mail_to"], name="one_delivery_per_notice"
            )
        ]
        indexes = [
            models.Index(
                fields=["endpoint", "next_attempt_at", "id"],
                name="delivery_due",
                condition=models.Q(state="pending"),
            ),
            models.Index(
                fields=["leased_by"],
                name="delivery_held",
                condition=models.Q(lease_until__isnull=False),
            ),
            models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
            models.Index(fields=["endpoint", "group", "-id"], name="delivery_of_group"),
            models.Index(fields=["state", "-id"], name="delivery_by_state"),
            models.Index(fields=["made_at"], name="delivery_age"),
        ]

    def __str__(self) -> str:
        return f"{self.uid}: {self.state}"

    @property
    def notice(self) -> Notice:
        return Notice.from_json(self.payload)


@scoped_as("delivery.Delivery", by="delivery")
class DeliveryAlert(models.Model):
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="alerts")
    alert_uid = models.CharField(max_length=64)

    class Meta:
        indexes = [models.Index(fields=["alert_uid", "delivery"], name="delivery_of_alert")]

    def __str__(self) -> str:
        return f"{self.alert_uid} in {self.delivery_id}"


@scoped_as("delivery.Delivery", by="delivery")
class Attempt(models.Model):
    """A finished attempt. A killed worker's attempt has no row, and is repeated with the same id."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="tried")
    number = models.PositiveIntegerField()
    at = models.DateTimeField()
    status = models.PositiveIntegerField(null=True)
    error = models.CharField(
        max_length=64, blank=True, help_text="a code; empty where it was taken"
    )
    detail = models.CharField(max_length=300, blank=True)
    latency_ms = models.PositiveIntegerField(null=True)
    response = models.TextField(blank=True, help_text="its first 4 KiB")

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["delivery", "number"], name="one_attempt_per_number")
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at {self.at:%Y-%m-%d %H:%M:%S}: {self.error or 'taken'}"
