from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models

from webapp.lib.matchers import Matcher, as_entered, as_lines, from_json, named_cluster
from webapp.lib.scoped_rows import scoped


class SilenceQuerySet(models.QuerySet["Silence"]):
    def active(self, at: datetime) -> Self:
        return self.filter(starts_at__lte=at, ends_at__gt=at)

    def over(self, at: datetime) -> Self:
        return self.filter(ends_at__lte=at)


@scoped()
class Silence(models.Model):
    """``matchers``: ``{"label", "operator", "value"}``, at least one; all must match. Ending the
    silence early changes ``ends_at``.
    """

    matchers = models.JSONField(default=list)
    cluster = models.CharField(
        max_length=100,
        blank=True,
        editable=False,
        help_text="that its matchers name; who sees it, sees this",
    )
    reason = models.TextField()
    author_name = models.CharField(max_length=200, help_text="their name at that time")
    created_at = models.DateTimeField()
    ended_name = models.CharField(max_length=200, blank=True, help_text="who ended it early")
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

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.cluster = self.only_cluster
        super().save(*args, **kwargs)

    @property
    def only_cluster(self) -> str:
        """The only cluster that the matchers accept; "" if there may be several."""
        return named_cluster(as_entered(self.matchers))

    @property
    def parsed_matchers(self) -> tuple[Matcher, ...]:
        """Raises :class:`BadMatcher`."""
        return from_json(self.matchers)

    @property
    def matcher_lines(self) -> str:
        return as_lines(as_entered(self.matchers))
