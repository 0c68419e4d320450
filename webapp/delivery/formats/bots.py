"""For the formats of bots, which always answer 200 and have the result in the body."""

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
    """Makes the characters of Markdown and tags full-width: names mention nobody and load no
    pictures. These dialects have no escape that all clients support.
    """
    return text.translate(_WIDE)


def code_is_zero(*names: str) -> Callable[[bytes], str]:
    """A reader of answers: "" if the first field of ``names`` that is present is 0."""

    def refused(body: bytes) -> str:
        try:
            answer = json.loads(body)
        except ValueError:
            return "unreadable_answer"
        fields = answer if isinstance(answer, dict) else {}
        code = next((fields[name] for name in names if name in fields), None)
        if code is None:
            return "unreadable_answer"
        return "" if code == 0 else f"code_{line(str(code), 40)}"

    return refused
