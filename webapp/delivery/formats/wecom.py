"""Group robots of WeCom: Markdown of 4,096 bytes at most."""

from datetime import datetime

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.bots import code_is_zero, markdown_block, widened
from webapp.delivery.formats.texts import cut, cut_bytes, fitted
from webapp.delivery.notices import Notice
from webapp.delivery.titles import title_of

MOST_BYTES = 4_096


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    title = f"### {cut_bytes(widened(cut(title_of(notice), 150)), 600)}\n"
    text = title + fitted(notice, markdown_block, MOST_BYTES - _bytes(title), _bytes)
    document = {"msgtype": "markdown", "markdown": {"content": cut_bytes(text, MOST_BYTES)}}
    return Outgoing(to.url, json_body(document), JSON)


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


FORMAT = Format(
    "wecom",
    render,
    refused=code_is_zero("errcode"),
    url_help="of the robot, with its key; anyone who has it can post",
)
