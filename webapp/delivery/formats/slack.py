from datetime import datetime
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.texts import block, counts_text, cut, first_alerts, line, mark
from webapp.delivery.notices import Notice, NoticeAlert
from webapp.delivery.titles import title_of

LONGEST_HEADER, LONGEST_SECTION, LONGEST_FALLBACK = 150, 3_000, 4_000
MOST_BLOCKS = 50
_FORMATTING = str.maketrans({"*": "∗", "_": "_\u200b", "`": "ˋ", "~": "∼"})


def escaped(text: str) -> str:
    """Names mention nobody and format nothing."""
    return _entities(text).translate(_FORMATTING)


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    title = title_of(notice)
    alerts, more = first_alerts(notice)
    header = {"type": "plain_text", "text": cut(title, LONGEST_HEADER), "emoji": False}
    blocks: list[dict[str, Any]] = [{"type": "header", "text": header}]
    for alert in alerts:
        text = {"type": "mrkdwn", "text": _alert_text(alert), "verbatim": True}
        blocks.append({"type": "section", "text": text})
    summary = f"Weir · {counts_text(notice)}" + (
        f" · {more} more are not listed here" if more else ""
    )
    blocks.append(
        {"type": "context", "elements": [{"type": "plain_text", "text": summary, "emoji": False}]}
    )
    fallback = _entities(cut(title, LONGEST_FALLBACK // 2))
    document = {
        "text": fallback,
        "blocks": blocks[:MOST_BLOCKS],
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return Outgoing(to.url, json_body(document), JSON)


def _alert_text(alert: NoticeAlert) -> str:
    link = alert.links.get("alert", "")
    title = escaped(line(alert.title, 250))
    head = f"<{_address(link)}|{title.replace('|', '¦')}>" if link else f"*{title}*"
    text = block(alert, f"{mark(alert)}  {head}", escaped, "*Next:*", "• ")
    return cut(text, LONGEST_SECTION)


def _address(url: str) -> str:
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")


FORMAT = Format("slack", render)
