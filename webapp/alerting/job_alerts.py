from dataclasses import dataclass

from webapp.alerting.badges import badges, state_badge
from webapp.alerting.models import Alert
from webapp.lib.badges import Badge

MOST_SHOWN = 5


@dataclass(frozen=True)
class JobAlert:
    alert: Alert
    state: Badge
    marks: list[Badge]


@dataclass(frozen=True)
class JobAlerts:
    """``more``: how many open alerts are not in ``shown``."""

    shown: list[JobAlert]
    more: int


def open_alerts(cluster: str, job_id: str) -> JobAlerts:
    alerts = (
        Alert.objects.of_job(cluster, job_id).open().order_by("-severity_rank", "-starts_at", "-id")
    )
    rows = list(alerts.with_names().defer("cause", "next_step", "evidence")[:100])
    return JobAlerts(
        [JobAlert(row, state_badge(row), badges(row)) for row in rows[:MOST_SHOWN]],
        max(len(rows) - MOST_SHOWN, 0),
    )
