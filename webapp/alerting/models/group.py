"""A notice contains alerts of one group: one cluster and one family of rules."""

from collections.abc import Collection
from datetime import datetime
from typing import ClassVar

from django.db import models

from webapp.lib.scoped_rows import scoped


class AlertGroupQuerySet(models.QuerySet["AlertGroup"]):
    def ensure(self, keys: Collection[tuple[str, str]]) -> "dict[tuple[str, str], AlertGroup]":
        """(cluster, family) → its group, created if needed."""
        families = {family for _cluster, family in keys}
        rows = self.filter(cluster__in={cluster for cluster, _family in keys}, family__in=families)
        groups = {(group.cluster, group.family): group for group in rows}
        missing = [
            self.model(cluster=cluster, family=family)
            for cluster, family in sorted(set(keys) - set(groups))
        ]
        if missing:
            self.bulk_create(missing, ignore_conflicts=True)
            groups = {(group.cluster, group.family): group for group in rows.all()}
        return groups


@scoped()
class AlertGroup(models.Model):
    """``cluster``: "" for storage roots, for Weir itself, and for buckets of several clusters."""

    cluster = models.CharField(max_length=100, blank=True)
    family = models.CharField(max_length=64)
    next_due_at = models.DateTimeField(null=True, help_text="when its news is notified")
    last_notified_at = models.DateTimeField(null=True)
    recent = models.JSONField(default=list, help_text="when its last ten notices were made")

    objects: ClassVar = AlertGroupQuerySet.as_manager()

    class Meta:
        ordering = ["cluster", "family"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "family"], name="one_group_per_family")
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def key(self) -> str:
        return f"{self.cluster}/{self.family}"

    @property
    def recent_notices(self) -> list[datetime]:
        return [datetime.fromisoformat(text) for text in self.recent]

    def is_due(self, now: datetime) -> bool:
        return self.next_due_at is not None and self.next_due_at <= now
