"""Alerts of Jira Service Management, or of Opsgenie, whose requests are the same: one alert per
group, which is closed with the last alert of the group.

https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events
has the requests, https://docs.opsgenie.com/docs/alerts-and-alert-fields the lengths. Both render
HTML in messages, and answer 202 before they create or close an alert.
"""

from datetime import datetime
from functools import partial
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.bots import plain_block, widened
from webapp.delivery.formats.texts import cut, digest, fit_texts, line, routing_facts
from webapp.delivery.notices import RESOLVED, Notice
from webapp.delivery.titles import leading, severity_of, title_of
from webapp.lib.translations import gettext_lazy as _

URL = "https://api.atlassian.com/jsm/ops/integration/v2/alerts"
LONGEST_MESSAGE, LONGEST_DESCRIPTION, LONGEST_ENTITY, LONGEST_TAG = 130, 15_000, 512, 50
_PRIORITIES = {"critical": "P1", "warning": "P3", "info": "P5"}


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    url, headers = to.url or URL, {**JSON, "authorization": f"GenieKey {to.credential}"}
    # It is part of a path, in which "/" may not be escaped.
    alias = f"weir-{digest(notice.group)}"
    if notice.status == RESOLVED:
        closed = {"source": "Weir", "note": widened(cut(title_of(notice), LONGEST_MESSAGE))}
        url = f"{url.rstrip('/')}/{alias}/close?identifierType=alias"
        return Outgoing(url, json_body(closed), headers)
    return Outgoing(url, json_body({"alias": alias, **_alert(notice)}), headers)


def _alert(notice: Notice) -> dict[str, Any]:
    lead, severity = leading(notice), severity_of(notice)
    tags = (severity, notice.cluster, notice.family)
    block = partial(plain_block, escape=widened, bullet="- ")
    return {
        "message": widened(cut(title_of(notice), LONGEST_MESSAGE)),
        "description": fit_texts(notice, block, LONGEST_DESCRIPTION),
        "priority": _PRIORITIES[severity],
        "source": "Weir",
        "entity": line(lead.job_name or lead.subject, LONGEST_ENTITY) if lead else "",
        "tags": [line(tag, LONGEST_TAG) for tag in tags if tag],
        "details": routing_facts(notice),
    }


FORMAT = Format(
    "jsm",
    render,
    keeps_state=True,
    credential=_("API key of the integration"),
    credential_required=True,
    default_url=URL,
)
