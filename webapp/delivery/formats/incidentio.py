"""An HTTP alert source of incident.io: one alert per group, which is resolved with the last alert of
the group. After that, the same key begins a new alert.

https://docs.incident.io/api-reference/alert-events-v2/createhttp has the fields,
https://docs.incident.io/alerts/deduplication the meaning of the key.
"""

from datetime import datetime

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.bots import linked_block
from webapp.delivery.formats.texts import cut, dedup_key, fit_texts, routing_facts
from webapp.delivery.notices import Notice
from webapp.delivery.titles import leading, title_of
from webapp.lib.translations import gettext_lazy as _

LONGEST_TITLE, LONGEST_DESCRIPTION = 250, 15_000
"""incident.io documents no limits of fields; requests of up to 512 KB arrive."""


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    lead = leading(notice)
    page = lead.links.get("alert") if lead else None
    # In its Markdown, only two spaces and a line end begin a new line.
    description = fit_texts(notice, linked_block, LONGEST_DESCRIPTION).replace("\n", "  \n")
    event = {
        "status": notice.status,
        "title": cut(title_of(notice), LONGEST_TITLE),
        "deduplication_key": dedup_key(notice.group),
        "description": description,
        "metadata": routing_facts(notice),
        **({"source_url": page} if page else {}),
    }
    headers = {**JSON, "authorization": f"Bearer {to.credential}"}
    return Outgoing(to.url, json_body(event), headers)


FORMAT = Format(
    "incidentio",
    render,
    keeps_state=True,
    credential=_("Token of the alert source"),
    credential_required=True,
)
