"""Workflows of Microsoft Teams that post what a webhook brings: a message with an Adaptive Card.

Under https://learn.microsoft.com/microsoftteams/platform/, the message is described in
``webhooks-and-connectors/how-to/connectors-using``, and the Markdown of a text block in
``task-modules-and-cards/cards/cards-format``. Accepted notices are answered with 202.
"""

from datetime import datetime
from functools import partial
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body, json_size
from webapp.delivery.formats.bots import linked_block, widened
from webapp.delivery.formats.texts import cut, cut_bytes, fit_texts
from webapp.delivery.notices import RESOLVED, Notice
from webapp.delivery.titles import severity_of, title_of

MOST_BYTES = 18_000
"""Microsoft's limit is about 28 KB; others measured that 21 KB of JSON arrive."""
_COLOURS = {"critical": "attention", "warning": "warning", "info": "accent", RESOLVED: "good"}


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    text = fit_texts(
        notice,
        partial(linked_block, bullet="• "),
        MOST_BYTES,
        lambda text: json_size(_in_paragraphs(text)),
    )
    title = {"size": "large", "weight": "bolder", "color": _COLOURS[severity_of(notice)]}
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": [
            _text_block(widened(cut(title_of(notice), 200))) | title,
            _text_block(cut_bytes(_in_paragraphs(text), MOST_BYTES)),
        ],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return Outgoing(to.url, json_body({"type": "message", "attachments": [attachment]}), JSON)


def _in_paragraphs(text: str) -> str:
    """In a text block, only an empty line begins a new line."""
    return text.replace("\n", "\n\n")


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True}


FORMAT = Format("teams", render)
