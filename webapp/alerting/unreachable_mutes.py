"""An unseen cluster's alert mutes those of its jobs for receivers that get it, unless something was
seen since. It mutes nothing if half of all clusters are unseen (the fault is Weir's), if it is
pending or muted itself (nobody would be notified), or if a clock dates it in the future.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db.models import F, Q

from webapp.alerting.choices import UNREACHABLE, AlertState, Mute, Notified
from webapp.alerting.models import Alert
from webapp.delivery.models import Endpoint
from webapp.delivery.outbox import Selection, selection_of
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.fleet.models import Cluster
from webapp.work.models import CLOCK_SLACK

JUDGED_AGAIN_AFTER = timedelta(seconds=60)
"""Time to judge the jobs of a cluster that is seen again; what is unseen by then is not notified.
"""
CRITICAL_RANK = SEVERITY_RANK[Severity.CRITICAL]


class UnreachableMutes:
    """Muting alerts by cluster, in at most three queries. ``is_muted``: by people."""

    def __init__(self, now: datetime, is_muted: Callable[[Alert], bool]) -> None:
        open_rows = (
            Alert.objects.open()
            .filter(rule=UNREACHABLE, job_id="")
            .exclude(cluster="")
            .order_by("id")
        )
        rows = {
            row.cluster: row for row in open_rows.defer("title", "cause", "next_step", "evidence")
        }
        notified = [
            row
            for row in rows.values()
            if row.state == AlertState.FIRING
            and row.episode_at <= now + CLOCK_SLACK
            and not is_muted(row)
        ]
        self.by_cluster: dict[str, Alert] = (
            {} if _is_weirs_own(rows.values()) else {alert.cluster: alert for alert in notified}
        )
        self._seen_since = now - JUDGED_AGAIN_AFTER
        self._unaware: dict[int, list[Selection]] = defaultdict(list)
        """Alert key → endpoints that do not get that alert."""
        for endpoint in Endpoint.objects.filter(enabled=True) if self.by_cluster else ():
            selection = selection_of(endpoint)
            for alert in self.by_cluster.values():
                if not selection.takes(alert):
                    self._unaware[alert.pk].append(selection)

    def of(self, row: Alert) -> Alert | None:
        """The alert that mutes ``row``."""
        unreachable = self.by_cluster.get(row.cluster)
        if (
            unreachable is None
            or (row.rule == UNREACHABLE and not row.job_id)
            or any(mute.takes(row) for mute in self._unaware[unreachable.pk])
        ):
            return None
        last_seen = row.finding.last_seen if row.finding else row.episode_at
        return (
            unreachable
            if last_seen <= unreachable.episode_at
            and (row.quiet_since is not None or not self._is_over(unreachable))
            else None
        )

    def _is_over(self, unreachable: Alert) -> bool:
        return unreachable.quiet_since is not None and unreachable.quiet_since <= self._seen_since

    def stay_held(self) -> Q:
        """Alerts that stay muted by the same alert."""
        of_all = [alert for alert in self.by_cluster.values() if not self._unaware[alert.pk]]
        over = [alert.pk for alert in of_all if self._is_over(alert)]
        dark = [alert.pk for alert in of_all if not self._is_over(alert)]
        by_same = Q(inhibited_by__in=dark) | Q(inhibited_by__in=over, quiet_since__isnull=False)
        seen = Q(finding__last_seen__gt=F("inhibited_by__episode_at"))
        ended = Q(
            state=AlertState.RESOLVED, notified=Notified.NOTHING, severity_rank__lt=CRITICAL_RANK
        )
        return Q(muted_by=Mute.UNREACHABLE) & by_same & ~seen & ~ended


def _is_weirs_own(unreachable: Iterable[Alert]) -> bool:
    """Half of all clusters are unseen at once."""
    watched = set(Cluster.objects.meant_to_run().values_list("name", flat=True))
    dark = sum(alert.quiet_since is None and alert.cluster in watched for alert in unreachable)
    return dark > 0 and 2 * dark >= len(watched)
