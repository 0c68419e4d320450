"""Questions asked about clusters and jobs, by name."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from django.apps import apps
from django.conf import settings
from django.db.models import Case, CharField, Count, F, Q, QuerySet, Value, When

from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, ClusterKind, OperatorState
from webapp.fleet.freshness import late_before

if TYPE_CHECKING:
    from webapp.fleet.models import Cluster, JobCurrent, SourceReading
else:
    Cluster = JobCurrent = SourceReading = object

MAX_SHARD_SIZE = 200
MISSED_CYCLES_UNTIL_UNREACHABLE = 3
JOB_FORGOTTEN_AFTER_CYCLES = 20
HEAVY = ("graph", "configuration", "checkpoint_config")
"""Columns of jobs that no list shows."""


def silence_allowed() -> timedelta:
    """How long a cluster may go without an answer before what is known of it is no longer shown as
    its state.
    """
    return timedelta(seconds=MISSED_CYCLES_UNTIL_UNREACHABLE * settings.WEIR.judged_every_s)


class ClusterQuerySet(QuerySet["Cluster"]):
    def live(self) -> Self:
        return self.filter(kind=ClusterKind.LIVE)

    def collected(self) -> Self:
        """Those that the collector asks."""
        return self.live().filter(enabled=True, left_at__isnull=True)

    def meant_to_run(self) -> Self:
        """Those that the collector asks and that nobody has suspended: their silence is judged."""
        return self.collected().exclude(operator_state=OperatorState.SUSPENDED)

    def unseen(self, now: datetime) -> Self:
        """Live clusters whose jobs' state cannot be known now: unreachable, silent, paused, never seen,
        not listed any more, or without a JobManager as their operator says.
        """
        silent = Q(last_success_at__isnull=True) | Q(last_success_at__lt=now - silence_allowed())
        gone = Q(left_at__isnull=False) | ~Q(operator_state="")
        return self.live().filter(
            silent | Q(unreachable_since__isnull=False) | Q(enabled=False) | gone
        )

    def free_shard(self) -> int:
        """The first shard that has room."""
        sizes = dict(self.collected().values_list("shard").annotate(size=Count("id")))
        return next(
            shard for shard in range(len(sizes) + 1) if sizes.get(shard, 0) < MAX_SHARD_SIZE
        )

    def register_recordings(self, names: set[str]) -> int:
        """Register clusters that only the lake knows (imported without the web) as recordings;
        returns how many.
        """
        removed = apps.get_model("fleet", "RemovedCluster").objects.filter(name__in=names)
        unknown = (
            names
            - set(self.filter(name__in=names).values_list("name", flat=True))
            - set(removed.values_list("name", flat=True))
        )
        rows = [
            self.model(name=name, kind=ClusterKind.RECORDING, enabled=False)
            for name in sorted(unknown)
        ]
        return len(self.bulk_create(rows, ignore_conflicts=True))


class SourceReadingQuerySet(QuerySet["SourceReading"]):
    def failing(self, since: datetime) -> Self:
        """Those that could not be read whole, and were not since then."""
        return self.filter(
            Q(last_success_at__isnull=True) | Q(last_success_at__lt=since), last_error__isnull=False
        )


class JobCurrentQuerySet(QuerySet["JobCurrent"]):
    def with_status(
        self, now: datetime
    ) -> Any:  # a queryset of jobs; the type plugin does not let one filter by annotations
        """Add ``status``: the reported state, UNKNOWN where nobody can know it now, UNWATCHED where
        its cluster was removed.

        A job that has ended keeps its state; one of a recording is judged at its recorded time.
        Otherwise the cluster must be seen, and the job itself must have been seen and judged not
        long ago.
        """
        clusters = apps.get_model("fleet", "Cluster").objects
        interval_s = settings.WEIR.judged_every_s + max(
            settings.WEIR.spark_interval_s, settings.WEIR.judged_every_s
        )
        forgotten = Q(last_seen_at__isnull=True) | Q(
            last_seen_at__lt=now - timedelta(seconds=JOB_FORGOTTEN_AFTER_CYCLES * interval_s)
        )
        of_recording = Q(cluster__in=clusters.filter(kind=ClusterKind.RECORDING).values("name"))
        late = Q(judged_at__lt=late_before(now))
        unseen = Q(cluster__in=clusters.unseen(now).values("name")) | (
            (forgotten | late) & ~of_recording
        )
        removed = Q(cluster__in=apps.get_model("fleet", "RemovedCluster").objects.values("name"))
        unknown: Any = Value(UNKNOWN_STATUS)
        unwatched: Any = Value(UNWATCHED_STATUS)
        status = Case(
            When(Q(terminal=True), then=F("state")),
            When(removed, then=unwatched),
            When(unseen | Q(state__isnull=True), then=unknown),
            default=F("state"),
            output_field=CharField(),
        )
        return self.annotate(**{"status": status})
