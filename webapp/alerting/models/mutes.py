"""When nobody is to be notified: silences, once and soon over; maintenance windows, planned or
weekly.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models

from webapp.lib.matchers import Matcher, as_entered, as_lines, from_json, named_cluster
from webapp.lib.scoped_rows import scoped


class Mutes(models.Model):
    """``matchers``: a list of ``{"label", "operator", "value"}``, at least one; all of them have to
    match.
    """

    matchers = models.JSONField(default=list)
    cluster = models.CharField(
        max_length=100,
        blank=True,
        editable=False,
        help_text="that its matchers name; who sees it, sees this",
    )
    reason = models.TextField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    author_name = models.CharField(max_length=200, help_text="their name at that time")
    created_at = models.DateTimeField()
    ended_name = models.CharField(max_length=200, blank=True, help_text="who ended it early")

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.cluster = self.pinned
        super().save(*args, **kwargs)

    @property
    def pinned(self) -> str:
        """The cluster that its matchers name outright; empty where they may match alerts of
        several.
        """
        return named_cluster(as_entered(self.matchers))

    @property
    def parsed_matchers(self) -> tuple[Matcher, ...]:
        """Raises :class:`BadMatcher`."""
        return from_json(self.matchers)

    @property
    def matcher_lines(self) -> str:
        return as_lines(as_entered(self.matchers))


class SilenceQuerySet(models.QuerySet["Silence"]):
    def active(self, at: datetime) -> Self:
        return self.filter(starts_at__lte=at, ends_at__gt=at)

    def over(self, at: datetime) -> Self:
        return self.filter(ends_at__lte=at)


@scoped()
class Silence(Mutes):
    """From ``starts_at`` up to ``ends_at``; ended early, ``ends_at`` is when."""

    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    objects: ClassVar = SilenceQuerySet.as_manager()

    class Meta:
        ordering = ["-ends_at", "-id"]
        indexes = [models.Index(fields=["-ends_at", "-id"], name="silence_by_end")]

    def __str__(self) -> str:
        return f"{self.matcher_lines} until {self.ends_at:%Y-%m-%d %H:%M}"

    def is_active(self, at: datetime) -> bool:
        return self.starts_at <= at < self.ends_at


class MaintenanceWindowQuerySet(models.QuerySet["MaintenanceWindow"]):
    def not_over(self, at: datetime) -> Self:
        return self.filter(models.Q(ends_at__isnull=True) | models.Q(ends_at__gt=at))

    def over(self, at: datetime) -> Self:
        return self.filter(ends_at__lte=at)

    def active(self, at: datetime) -> "list[MaintenanceWindow]":
        return [
            maintenance_window
            for maintenance_window in self.not_over(at).filter(starts_at__lte=at)
            if maintenance_window.is_active(at)
        ]


@scoped()
class MaintenanceWindow(Mutes):
    """Once, from ``starts_at`` to ``ends_at``; or every week from ``weekday`` and ``time_of_day``
    (UTC) for ``duration_s``.

    A weekly one is in force from ``starts_at`` until ``ends_at``, which may be empty.
    """

    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    weekday = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="0 Monday … 6 Sunday; empty: once"
    )
    time_of_day = models.TimeField(null=True, blank=True)
    duration_s = models.PositiveIntegerField(null=True, blank=True)

    objects: ClassVar = MaintenanceWindowQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["ends_at"], name="maintenance_by_end")]

    def __str__(self) -> str:
        return f"{self.matcher_lines}: {self.reason}"

    @property
    def is_weekly(self) -> bool:
        return self.weekday is not None

    def is_active(self, at: datetime) -> bool:
        if at < self.starts_at or (self.ends_at is not None and at >= self.ends_at):
            return False
        return not self.is_weekly or self.weekly_begin(at) is not None

    def weekly_begin(self, at: datetime) -> datetime | None:
        """When the weekly window that ``at`` falls into began; ``None`` where it falls into none."""
        began = self.last_begin(at)
        return began if at < began + timedelta(seconds=self.duration_s or 0) else None

    def last_begin(self, at: datetime) -> datetime:
        """Of the weekly window that began last before or at ``at``."""
        utc = at.astimezone(UTC)
        day = utc.date() - timedelta(days=(utc.weekday() - (self.weekday or 0)) % 7)
        began = datetime.combine(day, self.time_of_day or time(), UTC)
        return began if began <= at else began - timedelta(days=7)

    def since(self, at: datetime) -> datetime:
        """When the window that is active at ``at`` began."""
        return max(self.starts_at, self.last_begin(at)) if self.is_weekly else self.starts_at

    def until(self, at: datetime) -> datetime | None:
        """When the window that is active at ``at`` ends; ``None`` where none is."""
        if not self.is_active(at):
            return None
        if not self.is_weekly:
            return self.ends_at
        end = self.last_begin(at) + timedelta(seconds=self.duration_s or 0)
        return min(end, self.ends_at) if self.ends_at else end
