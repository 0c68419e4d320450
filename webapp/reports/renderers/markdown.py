"""A report as Markdown for tickets, in the active language: no HTML, and foreign texts escaped."""

import re
from collections.abc import Iterator

from django.utils.translation import gettext

from webapp.analyses.document import Advice, Block, Document, Facts, Note, NotKnown, Table
from webapp.analyses.presentation import shown
from webapp.lib.instants import instant_text
from webapp.lib.messages.rendering import localised
from webapp.reports.document import Report
from webapp.reports.renderers.html import verdict

MOST_ROWS = 40


def render(report: Report) -> str:
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {plain(localised(report.title))}"
    yield ""
    badge = verdict(report.pages.verdict.tone)
    span = f"{instant_text(report.start)} – {instant_text(report.end)}"
    yield f"{badge.shape} **{badge.word}** · {span}"
    yield ""
    yield from _document(report.pages)
    for part in report.appendix:
        yield f"## {plain(localised(part.title))}"
        yield ""
        yield from _document(part.document)
    yield gettext("Made by Weir for %(made_by)s, %(made_at)s. Report `%(uid)s`.") % {
        "made_by": plain(report.made_by),
        "made_at": instant_text(report.made_at),
        "uid": report.uid,
    }


def _document(document: Document) -> Iterator[str]:
    yield f"{document.verdict.shape} **{plain(localised(document.verdict.sentence))}**"
    yield ""
    for block in document.blocks:
        lines = list(_block(block))
        yield from lines
        if lines:
            yield ""


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Facts):
        for fact in block.facts:
            note = f" ({plain(localised(fact.note))})" if fact.note else ""
            value = plain(shown(fact.value, fact.unit))
            yield f"* {plain(localised(fact.name))}: **{value}**{note}"
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Advice):
        yield f"### {plain(localised(block.title) or gettext('What to do'))}"
        yield ""
        yield from (f"* {plain(localised(line))}" for line in block.lines)
    elif isinstance(block, Note):
        yield plain(localised(block.text))
    elif isinstance(block, NotKnown):
        yield f"* ? {plain(localised(block.reason))}"


def _table(table: Table) -> Iterator[str]:
    rows = table.rows[:MOST_ROWS]
    total = table.total or len(table.rows)
    count = f", {len(rows)} / {total}" if total > len(rows) else ""
    subtitle = f" ({plain(localised(table.subtitle))})" if table.subtitle else ""
    yield f"### {plain(localised(table.title))}{subtitle}{count}"
    yield ""
    if not rows:
        yield plain(localised(table.empty)) or gettext("Nothing.")
        return
    names = [plain(localised(column.name)) for column in table.columns]
    yield f"| {' | '.join(names)} |"
    yield f"|{' --- |' * len(names)}"
    units = [column.unit for column in table.columns]
    for row in rows:
        cells = (plain(shown(value, unit)) for value, unit in zip(row, units, strict=True))
        yield f"| {' | '.join(cells)} |"
    if table.note:
        yield ""
        yield plain(localised(table.note))


def plain(text: object) -> str:
    """One line that Markdown renders as plain text."""
    line = " ".join(str(text).split()).replace("&", "&amp;")
    escaped = re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", line)
    # Renderers link bare mentions and addresses; a zero-width space prevents it.
    escaped = re.sub(r"@(?=\w)", "@\u200b", escaped)
    escaped = re.sub(r"(?i)\b(https?|ftp|www)(?=[:.])", lambda match: f"{match[1]}\u200b", escaped)
    if re.match(r"[#=+-]", escaped):
        return f"\\{escaped}"
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)
