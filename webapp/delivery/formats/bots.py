"""Shared by bots that always answer 200 with the result in the body."""

import json
from collections.abc import Callable

from webapp.delivery.formats.texts import evidence, line, mark, notes, since, where
from webapp.delivery.notices import FIRING, NoticeAlert

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
    """Full-width forms of Markdown and tag characters: these dialects have no escape that all
    clients support, and names must neither mention people nor load pictures.
    """
    return text.translate(_WIDE)


def code_is_zero(*names: str) -> Callable[[bytes], str]:
    """A reader of answers: "" if the first of ``names`` present is 0."""

    def refused(body: bytes) -> str:
        try:
            answer = json.loads(body)
        except ValueError:
            return "unreadable_answer"
        code = (
            next((answer[name] for name in names if name in answer), None)
            if isinstance(answer, dict)
            else None
        )
        if code is None:
            return "unreadable_answer"
        return "" if code == 0 else f"code_{line(str(code), 40)}"

    return refused


def plain_block(alert: NoticeAlert) -> str:
    lines = [f"{mark(alert)}  {line(alert.title, 250)}", f"{where(alert)} · {since(alert)}"]
    if alert.status == FIRING:
        lines += [
            line(alert.cause, 600),
            f"Next: {line(alert.next_step, 400)}",
            *evidence(alert, 3),
        ]
    return "\n".join(text for text in [*lines, *notes(alert)] if text)


def markdown_block(alert: NoticeAlert) -> str:
    title = widened(line(alert.title, 250))
    link = alert.links.get("alert", "").replace("(", "%28").replace(")", "%29")
    lines = [
        f"**{mark(alert)}** " + (f"[{title}]({link})" if link else title),
        widened(f"{where(alert)} · {since(alert)}"),
    ]
    if alert.status == FIRING:
        lines += [
            widened(line(alert.cause, 600)),
            f"**Next:** {widened(line(alert.next_step, 400))}",
        ]
        lines += [f"- {widened(figure)}" for figure in evidence(alert, 3)]
    return "\n".join(text for text in [*lines, *(widened(note) for note in notes(alert))] if text)
