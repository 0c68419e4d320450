"""Runbooks of rules: ``templates/rules/<rule id>.md``, Markdown with headings, paragraphs and lists
only. Each of them is translated as one message.
"""

import re
from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from webapp.config.environment import PROJECT_DIR

FOLDER = PROJECT_DIR / "templates" / "rules"
_ITEM = re.compile(r"^(?:\d+\.|\*) ", re.MULTILINE)

Block = tuple[str, list[SafeString]]
"""Tag (``p``, ``ol`` or ``ul``), and the paragraph or items as HTML."""


def runbook(rule_id: str) -> list[tuple[str, list[Block]]]:
    """Title and blocks of each section. Rules ``<kind>.objective`` share one file."""
    path = FOLDER / f"{rule_id}.md"
    if not path.exists():
        path = FOLDER / f"{rule_id.partition('.')[2]}.md"
    sections: list[tuple[str, list[Block]]] = []
    for tag, texts in _blocks(path.read_text()):
        if tag == "h3":
            sections.append((gettext(texts[0]), []))
        else:
            sections[-1][1].append((tag, [_html(gettext(text)) for text in texts]))
    return sections


def messages(source: str) -> Iterator[str]:
    for _, texts in _blocks(source):
        yield from texts


def _blocks(source: str) -> Iterator[tuple[str, list[str]]]:
    for block in source.strip().split("\n\n"):
        if block.startswith("## "):
            yield "h3", [block.removeprefix("## ")]
        elif _ITEM.match(block):
            items = [" ".join(item.split()) for item in _ITEM.split(block)[1:]]
            yield "ul" if block.startswith("*") else "ol", items
        else:
            yield "p", [" ".join(block.split())]


def _html(text: str) -> SafeString:
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", escape(text, quote=False))
    # Text of Weir, and escaped above.
    return mark_safe(re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text))  # noqa: S308
