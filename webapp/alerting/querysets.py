"""Questions asked about alerts and mutes, by name."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db.models import F, Q, QuerySet

from webapp.alerting.choices import OPEN, AlertState, Mute

if TYPE_CHECKING:
    from webapp.alerting.models import Alert, AlertGroup, MaintenanceWindow, Silence
else:
    Alert = AlertGroup = MaintenanceWindow = Silence = object


class AlertQuerySet(QuerySet["Alert"]):
    def open(self) -> Self:
        """Pending or firing."""
        return self.filter(state__in=OPEN)

    def firing(self) -> Self:
        return self.filter(state=AlertState.FIRING)

    def of_job(self, cluster: str, job_id: str) -> Self:
        return self.filter(cluster=cluster, job_id=job_id)

    def unacknowledged(self) -> Self:
        """Firing, not acknowledged, not muted, and not long over in a recording: what the header
        counts.
        """
        return self.firing().filter(
            acknowledged_at__isnull=True, muted_by=Mute.NONE, recorded=False
        )

    def to_notify(self) -> Self:
        return self.filter(notify_since__isnull=False, muted_by=Mute.NONE)

    def with_names(self) -> Self:
        """Each with what its finding is ``related`` to, so that names in its title are known as
        such; nothing where that is gone.
        """
        return self.annotate(related=F("finding__related"))

    def with_all_names(self) -> Self:
        """With the finding's ``data`` as well, which has those in all its texts: for one alert,
        since it may be long.
        """
        return self.with_names().annotate(data=F("finding__data"))

    def overlapping(self, start: datetime, end: datetime) -> Self:
        return self.filter(Q(ends_at__isnull=True) | Q(ends_at__gte=start), starts_at__lte=end)


class AlertGroupQuerySet(QuerySet["AlertGroup"]):
    def ensure(self, keys: Collection[tuple[str, str]]) -> "dict[tuple[str, str], AlertGroup]":
        """The groups of these (cluster, family), made where they are missing."""
        families = {family for _cluster, family in keys}
        wanted = self.filter(
            cluster__in={cluster for cluster, _family in keys}, family__in=families
        )
        groups = {(group.cluster, group.family): group for group in wanted}
        missing = [
            self.model(cluster=cluster, family=family)
            for cluster, family in sorted(set(keys) - set(groups))
        ]
        if missing:
            self.bulk_create(missing, ignore_conflicts=True)
            groups = {(group.cluster, group.family): group for group in wanted.all()}
        return groups


class SilenceQuerySet(QuerySet["Silence"]):
    def active(self, at: datetime) -> Self:
        return self.filter(starts_at__lte=at, ends_at__gt=at)

    def over(self, at: datetime) -> Self:
        return self.filter(ends_at__lte=at)


class MaintenanceWindowQuerySet(QuerySet["MaintenanceWindow"]):
    def not_over(self, at: datetime) -> Self:
        return self.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=at))

    def over(self, at: datetime) -> Self:
        return self.filter(ends_at__lte=at)

    def active(self, at: datetime) -> "list[MaintenanceWindow]":
        return [
            maintenance_window
            for maintenance_window in self.not_over(at).filter(starts_at__lte=at)
            if maintenance_window.is_active(at)
        ]
