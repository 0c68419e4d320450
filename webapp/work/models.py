from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models

from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.messages.fields import MessageField
from webapp.lib.scoped_rows import fleet_wide, scoped
from webapp.work.lease import LONGEST_BACKOFF, Lease, is_dead, new_holder

LEASE = timedelta(seconds=60)
"""Renewed after every third of this, so that another process takes over within a minute."""

CLOCK_SLACK = timedelta(minutes=5)
"""Normal difference between the clocks of two machines."""


def _is_free(now: datetime) -> models.Q:
    return models.Q(lease_until__isnull=True) | models.Q(lease_until__lt=now)


class DueWorkQuerySet(models.QuerySet["DueWork"]):
    def ensure(self, intervals_s: Mapping[str, int], now: datetime) -> None:
        """Create missing rows and apply changed intervals; existing due times stay."""
        stored = dict(self.filter(key__in=intervals_s).values_list("key", "interval_s"))
        missing = [
            self.model(key=key, interval_s=s, next_attempt_at=now)
            for key, s in intervals_s.items()
            if key not in stored
        ]
        if missing:
            self.bulk_create(missing, ignore_conflicts=True)
        for key, interval_s in intervals_s.items():
            if stored.get(key, interval_s) != interval_s:
                self.filter(key=key).update(interval_s=interval_s)

    def make_due(self, key: str, interval_s: int, at: datetime) -> None:
        """Make requested work due, regardless of failures."""
        self.ensure({key: interval_s}, at)
        self.filter(key=key).update(next_attempt_at=at, failures=0)

    def mend(self, now: datetime) -> int:
        """Correct instants in the far future, from before the clock was set back: work becomes due,
        leases end unless renewed. Normally no work is postponed for longer than its interval or the
        longest delay after a failure. Returns how many were corrected.
        """
        # As if the work had succeeded now, so that a failure soon shows as late.
        self.filter(last_success_at__gt=now + CLOCK_SLACK).update(last_success_at=now)
        mended = 0
        for row in self.filter(models.Q(next_attempt_at__gt=now) | models.Q(lease_until__gt=now)):
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
        """Rows without a valid lease that are due at ``now``, or at ``by`` if it is given."""
        return self.filter(_is_free(now), next_attempt_at__lte=by or now)

    def claim(
        self, key: str, now: datetime, *, even_if_not_due: bool = False, lease: timedelta = LEASE
    ) -> "Lease | None":
        """Claim the row; ``None`` if it is held or not due."""
        self.filter(key=key).release_from_the_dead()
        holder = new_holder()
        free = self.filter(_is_free(now), key=key)
        if not even_if_not_due:
            free = free.filter(next_attempt_at__lte=now)
        if not free.update(
            lease_until=now + lease,
            leased_by=holder,
            fence=models.F("fence") + 1,
            last_started_at=now,
            next_attempt_at=now,
        ):
            return None
        row = self.filter(key=key, leased_by=holder).first()
        return Lease(row.key, row.fence, row.interval_s, lease, self.all()) if row else None

    def release_from_the_dead(self) -> None:
        for key, holder, fence in self.filter(lease_until__isnull=False).values_list(
            "key", "leased_by", "fence"
        ):
            if holder and is_dead(holder):
                self.filter(key=key, fence=fence).update(lease_until=None)


class DueWork(models.Model):
    """One kind of repeated work. A holder must finish or renew by ``lease_until``; ``fence`` grows
    with every claim, so that writes of a former holder are refused.
    """

    key = models.CharField(
        max_length=150, unique=True, help_text="collect/0, spark/cycle, maintenance/retention, …"
    )
    interval_s = models.PositiveIntegerField()
    next_attempt_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True)
    leased_by = models.CharField(max_length=200, null=True)
    fence = models.BigIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0, help_text="in a row")
    last_started_at = models.DateTimeField(null=True)
    last_finished_at = models.DateTimeField(null=True)
    last_success_at = models.DateTimeField(null=True)
    last_error = MessageField(null=True)
    created_at = models.DateTimeField(
        auto_now_add=True, null=True, help_text="null: before that was noted"
    )

    objects: ClassVar = DueWorkQuerySet.as_manager()

    class Meta:
        ordering = ["key"]
        indexes = [models.Index(fields=["next_attempt_at"], name="due_work_next")]

    def __str__(self) -> str:
        return self.key

    def is_held(self, now: datetime) -> bool:
        return self.lease_until is not None and self.lease_until >= now


@fleet_wide()
class PipelineRun(models.Model):
    """One attempt at one piece of due work."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        ABANDONED = "abandoned", "abandoned"  # its process vanished; another took over

    kind = models.CharField(max_length=32, help_text="collect, spark, import or maintenance")
    key = models.CharField(max_length=150, help_text="of the due work")
    attempt = models.CharField(
        max_length=64, unique=True, help_text="tag that names this attempt everywhere"
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    duration_ms = models.BigIntegerField(null=True)
    counts = models.JSONField(default=dict)
    log_tail = models.TextField(blank=True, help_text="last 64 KiB at most, credentials removed")
    error = MessageField(null=True)
    manifest_path = models.CharField(max_length=1000, null=True)

    class Meta:
        ordering = ["-started_at", "-id"]
        indexes = [
            models.Index(fields=["-started_at", "-id"], name="run_newest"),
            models.Index(fields=["kind", "-started_at", "-id"], name="run_of_kind"),
            models.Index(fields=["key", "state"], name="run_of_work"),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.attempt}: {self.state}"


class Manifest(models.Model):
    """A complete Spark run: which lake commits it read, and whether its tables are in the
    database.
    """

    class State(models.TextChoices):
        WRITTEN = "written", "written"
        LOADED = "loaded", "loaded"

    run = models.ForeignKey(
        PipelineRun, null=True, on_delete=models.SET_NULL, related_name="manifests"
    )
    attempt = models.CharField(max_length=64, unique=True)
    path = models.CharField(max_length=1000, help_text="of manifest.json")
    from_seq = models.JSONField(default=dict, help_text="lake table → commits already known before")
    to_seq = models.JSONField(default=dict, help_text="lake table → commits known with it")
    state = models.CharField(max_length=16, choices=State.choices, default=State.WRITTEN)
    restarted = MessageField(
        null=True,
        help_text="why the lake counts as unread from here on; such a row stands for no run",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    loaded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.attempt}: {self.state}"


@fleet_wide()
class KeptSize(models.Model):
    """The last measured size of one area of Weir's data; null if it could not be measured."""

    area = models.CharField(
        max_length=32,
        unique=True,
        help_text="database, lake, runs, plans, logs, pushed or other",
    )
    size_bytes = models.BigIntegerField(null=True)
    as_of = models.DateTimeField()

    def __str__(self) -> str:
        return self.area


class RolledUp(models.Model):
    """Up to where ``table`` is rolled up: ``to_seq`` is the commit of a derived lake table, or the
    id of the last row of a database table.
    """

    table = models.CharField(max_length=100, unique=True)
    to_seq = models.BigIntegerField()
    loaded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.table} up to {self.to_seq}"


@scoped()
class SkippedInput(models.Model):
    """Serving table ``skipped_input``: one input that was skipped, and why."""

    cluster = models.CharField(max_length=100)
    observed_at = models.DateTimeField()
    subject = models.CharField(max_length=300)
    reason = models.CharField(max_length=64)
    source = models.CharField(max_length=32, null=True)
    detail = MessageField(null=True)
    as_of = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "observed_at", "subject", "reason"], name="skipped_input_key"
            )
        ]
        indexes = [
            models.Index(
                fields=["cluster", "-observed_at", "-id"], name="skipped_input_of_cluster"
            ),
            models.Index(fields=["-observed_at", "-id"], name="skipped_input_age"),
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


class Heartbeat(models.Model):
    """``tick``: when beat last ticked. ``retention``: the instant by which rows were old."""

    name = models.CharField(max_length=64, unique=True)
    at = models.DateTimeField()
    since = models.DateTimeField(null=True, help_text="since when it has ticked without a break")

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"


@fleet_wide()
class PipelineAlarm(models.Model):
    """A fault in Weir itself; open until ``cleared_at``."""

    code = models.CharField(max_length=64)
    subject = models.CharField(max_length=150)
    detail = MessageField()
    since = models.DateTimeField()
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-since", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["code", "subject"],
                condition=models.Q(cleared_at__isnull=True),
                name="one_open_alarm",
            )
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.subject}"


RUN_BADGES: dict[str, Badge] = {
    PipelineRun.State.RUNNING: Badge("running", "○", "done"),
    PipelineRun.State.DONE: Badge("done", "●", "ok"),
    PipelineRun.State.FAILED: Badge("failed", "▲", "crit"),
    PipelineRun.State.ABANDONED: Badge("abandoned", "◆", "warn"),
}


def run_badge(state: str) -> Badge:
    return RUN_BADGES.get(state, UNKNOWN)
