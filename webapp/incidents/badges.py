from webapp.findings.badges import severity_badge
from webapp.incidents.choices import IncidentState
from webapp.incidents.models import Incident
from webapp.lib.badges import UNKNOWN, Badge

_STATES: dict[str, Badge] = {
    IncidentState.CLOSED: Badge("closed", "■", "done"),
    IncidentState.MERGED: Badge("part of another", "■", "unknown"),
}


def state_badge(incident: Incident) -> Badge:
    if incident.state == IncidentState.OPEN:
        severity = severity_badge(incident.severity)
        return Badge("open", severity.shape, severity.tone)
    return _STATES.get(incident.state, UNKNOWN)
