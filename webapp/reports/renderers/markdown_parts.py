"""Pieces of Markdown: words of others escaped, headings, tables and blocks."""

import re
from collections.abc import Iterable, Iterator

from django.utils.translation import gettext

from webapp.lib.messages.rendering import localised
from webapp.reports.document import Table
from webapp.reports.presentation import PresentedReport


def plain(text: object) -> str:
    """One line that no reader of Markdown takes for more than words."""
    line = " ".join(str(text).split()).replace("&", "&amp;")
    escaped = re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", line)
    # References to people and addresses are made from bare words; a zero-width space keeps them
    # words.
    escaped = re.sub(r"@(?=\w)", "@\u200b", escaped)
    escaped = re.sub(r"(?i)\b(https?|ftp|www)(?=[:.])", lambda match: f"{match[1]}\u200b", escaped)
    if re.match(r"[#=+-]", escaped):
        return f"\\{escaped}"
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)


def text(value: object, of: object = None) -> str:
    """A sentence of the document in the language that is active; ``of``: what has the names that it
    may hold.
    """
    return plain(localised(str(value)))


def part(title: str, lines: Iterable[str], *, gap: bool = False) -> Iterator[str]:
    rest = list(lines)
    if not rest:
        return
    yield f"## {title}"
    yield ""
    for line in rest:
        yield line
        if gap:
            yield ""
    if not gap:
        yield ""


def table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[str]],
    empty: str = "",
    note: str = "",
) -> Iterator[str]:
    rest = [" | ".join(plain(cell) for cell in row) for row in rows]
    names = [plain(column) for column in columns]
    lines = [
        f"| {' | '.join(names)} |",
        f"|{' --- |' * len(names)}",
        *(f"| {row} |" for row in rest),
    ]
    yield from part(
        title,
        [
            *((plain(note), "") if note else ()),
            *(lines if rest else [empty or gettext("Nothing.")]),
        ],
    )


def shown_table(shown: Table, about: PresentedReport) -> Iterator[str]:
    rows = [[localised(cell) for cell in row] for row in shown.rows]
    note, empty = localised(shown.note), localised(shown.empty)
    yield from table(
        localised(shown.title), [localised(column) for column in shown.columns], rows, empty, note
    )


def block(lines: Iterable[str]) -> list[str]:
    """Indented code: it ends at the first line that is not, and every line of these is."""
    return [f"    {line}" for text in lines for line in text.splitlines() or [""]]


def code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
