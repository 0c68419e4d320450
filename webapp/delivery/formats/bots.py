"""For the formats of bots: Markdown, and results in the body of an answer."""

import json
import math
from collections.abc import Callable
from typing import Any

from webapp.delivery.formats.texts import block, line, mark
from webapp.delivery.notices import NoticeAlert

_WIDE = str.maketrans(
    {
        "<": "＜",
        ">": "＞",
        "[": "［",
        "]": "］",
        "*": "＊",
        "`": "｀",
        "\\": "＼",
        "#": "＃",
        "!": "！",
    }
)


def widened(text: str) -> str:
    """Makes the characters of Markdown and tags full-width: names mention nobody and load no
    pictures. These dialects have no escape that all clients support.
    """
    return text.translate(_WIDE)


def linked_block(
    alert: NoticeAlert, escape: Callable[[str], str] = widened, bullet: str = "- "
) -> str:
    """In Markdown; the title links to the page of the alert."""
    title = escape(line(alert.title, 250))
    link = alert.links.get("alert", "").replace("(", "%28").replace(")", "%29")
    head = f"**{mark(alert)}** " + (f"[{title}]({link})" if link else title)
    return block(alert, head, escape, "**Next:**", bullet)


def plain_block(alert: NoticeAlert, escape: Callable[[str], str], bullet: str) -> str:
    """Without Markdown: the address of the alert's page is a line of its own."""
    title = f"{mark(alert)}  {escape(line(alert.title, 250))}"
    head = "\n".join(filter(None, (title, alert.links.get("alert"))))
    return block(alert, head, escape, "Next:", bullet)


def with_query(url: str, query: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{query}"


def fields_of(body: bytes) -> dict[str, Any]:
    """Of an answer that is a JSON object; empty if it is something else."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def pause_in(body: bytes) -> str:
    """``retry_after`` of Discord, or of Telegram's ``parameters``, in whole seconds; "" if there is
    none.
    """
    answer = fields_of(body)
    inner = answer.get("parameters")
    seconds = (inner if isinstance(inner, dict) else answer).get("retry_after")
    if isinstance(seconds, (int, float)) and 0 <= seconds < 1e9:
        return str(math.ceil(seconds))
    return ""


def code_is_zero(*names: str) -> Callable[[bytes], str]:
    """A reader of answers: "" if the first field of ``names`` that is present is 0."""

    def refused(body: bytes) -> str:
        fields = fields_of(body)
        code = next((fields[name] for name in names if name in fields), None)
        return "" if code == 0 else refusal(code)

    return refused


def refusal(code: Any) -> str:
    """``code``: of the answer; None if it has none."""
    return "unreadable_answer" if code is None else f"code_{line(str(code), 40)}"
