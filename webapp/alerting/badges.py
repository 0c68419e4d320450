from datetime import datetime

from webapp.alerting.choices import AlertState, Mute
from webapp.alerting.models import Alert, Silence
from webapp.findings.badges import severity_badge
from webapp.lib.badges import UNKNOWN, Badge

STATES: dict[str, Badge] = {
    AlertState.PENDING: Badge("pending", "○", "done"),
    AlertState.FIRING: Badge("firing", "▲", "crit"),
    AlertState.RESOLVED: Badge("resolved", "●", "ok"),
}
MUTES: dict[str, Badge] = {
    Mute.UNREACHABLE: Badge("cluster not seen", "?", "unknown"),
    Mute.SILENCE: Badge("silenced", "■", "unknown"),
}
QUIET = Badge("quiet", "○", "done")
NO_LONGER_WATCHED = Badge("no longer watched", "■", "unknown")
ACKNOWLEDGED = Badge("acknowledged", "✓", "done")
FLAPPING = Badge("flapping", "≈", "warn")
ACTIVE = Badge("active", "●", "warn")
PLANNED = Badge("planned", "○", "done")
OVER = Badge("over", "■", "unknown")


def state_badge(alert: Alert) -> Badge:
    if alert.state == AlertState.FIRING:
        if alert.quiet_since is not None:
            return QUIET
        severity = severity_badge(alert.severity)
        return Badge("firing", severity.shape, severity.tone)
    if alert.ended_because and alert.state == AlertState.RESOLVED:
        return NO_LONGER_WATCHED
    return STATES.get(alert.state, UNKNOWN)


def badges(alert: Alert) -> list[Badge]:
    alert_badges = []
    if alert.muted_by:
        alert_badges.append(MUTES.get(alert.muted_by, UNKNOWN))
    if alert.is_acknowledged and alert.is_open:
        alert_badges.append(ACKNOWLEDGED)
    if alert.flapping and alert.is_open:
        alert_badges.append(FLAPPING)
    return alert_badges


def mute_badge(mute: Silence, at: datetime) -> Badge:
    if mute.is_active(at):
        return ACTIVE
    return OVER if mute.ends_at is not None and mute.ends_at <= at else PLANNED
