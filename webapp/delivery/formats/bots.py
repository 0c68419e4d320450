"""Shared by bots that always answer 200 with the result in the body."""

import json
from collections.abc import Callable

from webapp.delivery.formats.texts import line

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
