"""PagerDuty's Events API v2: one incident per group, which is resolved with the last alert of the
group.
"""

from datetime import datetime
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.texts import (
    cut,
    dedup_key,
    evidence,
    first_alerts,
    line,
    location,
    mark,
    notes,
    period,
)
from webapp.delivery.notices import FIRING, Notice, NoticeAlert
from webapp.delivery.titles import leading, severity_of, title_of
from webapp.lib.translations import gettext_lazy as _

URL = "https://events.pagerduty.com/v2/enqueue"
LONGEST_SUMMARY = 1_024


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    is_firing = notice.status == FIRING
    event: dict[str, Any] = {
        "routing_key": to.credential,
        "event_action": "trigger" if is_firing else "resolve",
        "dedup_key": dedup_key(notice.group),
        "client": "Weir",
    }
    lead = leading(notice)
    if lead and lead.links.get("alert"):
        event["client_url"] = lead.links["alert"]
    if is_firing:
        event["payload"] = _payload(notice, lead)
        event["links"] = [
            {"href": lead.links[name], "text": name.capitalize()}
            for name in ("finding", "runbook", "job")
            if lead and lead.links.get(name)
        ]
    return Outgoing(to.url or URL, json_body(event), JSON)


def _payload(notice: Notice, lead: NoticeAlert | None) -> dict[str, Any]:
    alerts, more = first_alerts(notice)
    return {
        "summary": cut(title_of(notice), LONGEST_SUMMARY),
        "source": line(notice.cluster or "storage", 255),
        "severity": severity_of(notice),
        **({"timestamp": lead.starts_at.isoformat(timespec="milliseconds")} if lead else {}),
        **({"component": line(lead.job_name or lead.subject, 255)} if lead else {}),
        "group": line(notice.group, 255),
        "class": line(lead.rule if lead else notice.family, 255),
        "custom_details": {
            "firing": notice.firing_total,
            "resolved": notice.resolved_total,
            "not_listed": more,
            "alerts": [_details(alert) for alert in alerts],
        },
    }


def _details(alert: NoticeAlert) -> dict[str, Any]:
    return {
        "state": mark(alert),
        "title": line(alert.title, 500),
        "where": location(alert),
        "when": period(alert),
        "cause": line(alert.cause, 1_000),
        "next_step": line(alert.next_step, 1_000),
        "evidence": list(evidence(alert)),
        "notes": notes(alert),
        "page": alert.links.get("alert", ""),
    }


FORMAT = Format(
    "pagerduty",
    render,
    keeps_state=True,
    credential=_("Integration (routing) key"),
    credential_required=True,
    default_url=URL,
)
