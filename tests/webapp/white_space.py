"""Pages as a browser reads them: of white space only that is left which is seen.

Templates are laid out one element a line. Tests look for what a reader sees, so line breaks and
indentation are taken out of answers to Django's test client; a real browser gets them as they are.
"""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

BLOCKS = (
    "html head body main header footer nav section article aside div table thead tbody tfoot tr td "
    "th caption colgroup col ul ol li dl dt dd form fieldset legend p h1 h2 h3 h4 h5 h6 details "
    "summary figure figcaption option select optgroup script style link meta title hr blockquote"
).replace(" ", "|")
INLINE = "a|abbr|b|bdi|code|em|i|q|small|span|strong|time"
AS_IT_IS = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)
BESIDE_BLOCKS = re.compile(rf"\s*(</?(?:{BLOCKS})\b[^>]*>)\s*")
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
BESIDE_SMALL = re.compile(r"\s*(</?small\b[^>]*>)\s*")
BOLD_LINE = re.compile(
    r'(class="[^"]*\b(?:empty|kpi)\b[^"]*"[^>]*>(?:<span\b[^>]*>(?:(?!</span>).)*</span>)?) ?'
    r"(<b\b[^>]*>(?:(?!</b>).)*</b>) "
)
"""What base.css sets on a line of its own."""
BUTTON = re.compile(r"(<button\b[^>]*>) | (</button>)")
FIRST_OF_LINE = re.compile(rf"((?:^| |</?(?:{BLOCKS}|button)\b[^>]*>)(?:<(?:{INLINE})\b[^>]*>)+) ")
"""After white space, or at the beginning of a block, an element's own is not seen."""
LAST_OF_LINE = re.compile(rf" ((?:</(?:{INLINE})>)+(?:$|</?(?:{BLOCKS})\b))")


class SeenWhiteSpace:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_page = (
            response.get("Content-Type", "").startswith("text/html") and not response.streaming
        )
        if is_page and request.META.get("SERVER_NAME") == "testserver":
            response.content = seen(response.content.decode(response.charset))
        return response


def seen(page: str) -> str:
    parts = AS_IT_IS.split(page)
    # Of each three the second is an element whose white space counts, the third its name.
    return "".join(
        part if at % 3 else _collapsed(part) for at, part in enumerate(parts) if at % 3 != 2
    )


def _collapsed(text: str) -> str:
    text = BESIDE_BLOCKS.sub(r"\1", re.sub(r"\s+", " ", text))
    text = LAST_OF_LINE.sub(r"\1", BUTTON.sub(r"\1\2", text))
    text = BOLD_LINE.sub(r"\1\2", text)
    before = ""
    while before != text:
        before, text = text, FIRST_OF_LINE.sub(r"\1", text)
    return CELL.sub(lambda cell: BESIDE_SMALL.sub(r"\1", cell[0]), text)
