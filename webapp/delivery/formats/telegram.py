"""Bots of Telegram: plain text to the chat that the address names, as in
``https://api.telegram.org/bot<token>/sendMessage?chat_id=<chat>&message_thread_id=<topic>``.

https://core.telegram.org/bots/api has ``sendMessage`` and, under "Making requests", the answers.
"""

from datetime import datetime
from functools import partial
from urllib.parse import parse_qsl

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.bots import fields_of, pause_in, plain_block, refusal
from webapp.delivery.formats.texts import cut, fit_units
from webapp.delivery.notices import Notice
from webapp.delivery.titles import title_of

LONGEST_TEXT, LONGEST_TITLE = 4_096, 200


def disarmed(text: str) -> str:
    """Names mention nobody: Telegram finds mentions in plain text, too."""
    return text.replace("@", "＠")


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    title = disarmed(cut(title_of(notice), LONGEST_TITLE))
    block = partial(plain_block, escape=disarmed, bullet="• ")
    text = fit_units(notice, block, LONGEST_TEXT - 2 * LONGEST_TITLE - 2)
    url, _, query = to.url.partition("?")
    fields = dict(parse_qsl(query))
    topic = fields.get("message_thread_id", "")
    document = {
        "chat_id": fields.get("chat_id", ""),
        **({"message_thread_id": int(topic)} if topic.isdecimal() else {}),
        "text": f"{title}\n\n{text}",
        "link_preview_options": {"is_disabled": True},
    }
    return Outgoing(url, json_body(document), JSON)


def refused(body: bytes) -> str:
    answer = fields_of(body)
    return "" if answer.get("ok") is True else refusal(answer.get("error_code"))


FORMAT = Format("telegram", render, refused=refused, pause_in=pause_in, address_has="chat_id=")
