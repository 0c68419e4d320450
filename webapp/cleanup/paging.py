"""Pages of a plan's files and of its journal. Both are stored in chunks of up to 1,000 files; a
page shows 50.
"""

from dataclasses import asdict, dataclass
from typing import Any

from webapp.cleanup.entries import CHUNK_ROWS
from webapp.cleanup.journal import Journal
from webapp.cleanup.plan_reader import PlanReader

PAGE_ROWS = 50
MOST_CHUNKS = 20
"""Of the journal, for one page; chunks of which nothing was moved have no rows in an undo."""


@dataclass(frozen=True)
class Slice:
    """``previous`` and ``next`` are page parameters, empty if there is none."""

    rows: list[dict[str, Any]]
    next: str = ""
    previous: str = ""


def files_page(reader: PlanReader, asked: str, size: int = PAGE_ROWS) -> Slice:
    """Rows of the plan from number ``asked`` on, unverified; from the first if there is no such
    number.
    """
    total = reader.manifest.total_files
    first = (
        int(asked)
        if asked.isascii() and asked.isdigit() and len(asked) < 12 and int(asked) < total
        else 0
    )
    rows: list[dict[str, Any]] = []
    before = 0
    for chunk, count in enumerate(reader.chunk_rows()):
        if before + count > first + len(rows) and len(rows) < size:
            start = first + len(rows) - before
            rows += reader.page(chunk)[start : start + size - len(rows)]
        before += count
    following = str(first + size) if first + size < total else ""
    return Slice(rows, following, str(max(first - size, 0)) if first else "")


def journal_page(journal: Journal, asked: str, size: int = PAGE_ROWS) -> Slice:
    """What became of the files, chunk by chunk, in the order of the plan."""
    done = journal.done()
    chunk, offset = _place(asked)
    if not done:
        return Slice([])
    if chunk not in done:
        chunk, offset = done[0], 0
    place = done.index(chunk)
    previous = _before(chunk, offset, size, done[place - 1] if place else None)
    rows: list[dict[str, Any]] = []
    for read, number in enumerate(done[place:]):
        journal_rows = journal.read(number).rows
        taken = journal_rows[offset : offset + size - len(rows)]
        rows += [asdict(row) for row in taken]
        offset += len(taken)
        if offset < len(journal_rows):
            return Slice(rows, f"{number}.{offset}", previous)
        offset = 0
        following = f"{done[place + read + 1]}.0" if place + read + 1 < len(done) else ""
        if len(rows) == size or read + 1 == MOST_CHUNKS:
            return Slice(rows, following, previous)
    return Slice(rows, "", previous)


def _place(asked: str) -> tuple[int, int]:
    chunk, _, offset = asked.partition(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in (chunk, offset)):
        return 0, 0
    return int(chunk), min(int(offset), CHUNK_ROWS)


def _before(chunk: int, offset: int, size: int, chunk_before: int | None) -> str:
    if offset:
        return f"{chunk}.{max(offset - size, 0)}"
    return "" if chunk_before is None else f"{chunk_before}.0"
