"""Webhooks of Discord: a line, and the alerts in an embed.

https://docs.discord.com/developers/resources/webhook#execute-webhook has the request, and
``resources/message#embed-object-embed-limits`` the lengths.
"""

import re
from datetime import datetime
from functools import partial

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.bots import linked_block, pause_in, with_query
from webapp.delivery.formats.texts import fit_units, line
from webapp.delivery.notices import RESOLVED, Notice
from webapp.delivery.titles import severity_of, title_of
from webapp.lib.instants import iso_text

LONGEST_DESCRIPTION = 4_096
_COLOURS = {"critical": 0xD32F2F, "warning": 0xF57C00, "info": 0x1976D2, RESOLVED: 0x388E3C}
_MARKUP = re.compile(r"[\\*_~`|<>#\[\]()@]")


def escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    block = partial(linked_block, escape=escaped, bullet="• ")
    embed = {
        "description": fit_units(notice, block, LONGEST_DESCRIPTION),
        "color": _COLOURS[severity_of(notice)],
        "timestamp": iso_text(notice.made_at),
    }
    document = {
        "content": escaped(line(title_of(notice), 250)),
        "embeds": [embed],
        "allowed_mentions": {"parse": []},
    }
    # Addresses that Discord shows have no version: those ask for pauses in milliseconds.
    url = to.url.replace("/api/webhooks/", "/api/v10/webhooks/", 1)
    # Without waiting, Discord accepts messages that it does not post.
    return Outgoing(with_query(url, "wait=true"), json_body(document), JSON)


FORMAT = Format("discord", render, pause_in=pause_in)
