"""Pages of a plan's files and of its journal. Both lie in chunks of up to 1,000; a page reads one chunk and shows 100 of it."""

from dataclasses import dataclass
from typing import Any

from webapp.storage.cleanup.entries import CHUNK_ROWS
from webapp.storage.cleanup.journal import Journal
from webapp.storage.cleanup.reading import PlanReader
from webapp.storage.cleanup.run import verdict_row

PAGE_ROWS = 100


@dataclass(frozen=True)
class Slice:
    """``previous`` and ``next`` are what to ask for, empty where there is none."""

    rows: list[dict[str, Any]]
    next: str = ""
    previous: str = ""


def files_page(reader: PlanReader, asked: str, size: int = PAGE_ROWS) -> Slice:
    """Rows of the plan, unverified; the first page for what cannot be read as one."""
    total = reader.manifest.chunks
    chunk, offset = _place(asked)
    if not total:
        return Slice([])
    if chunk >= total:
        chunk = offset = 0
    rows = reader.page(chunk)
    following = f"{chunk}.{offset + size}" if offset + size < len(rows) else f"{chunk + 1}.0" if chunk + 1 < total else ""
    return Slice(rows[offset : offset + size], following, _before(chunk, offset, size, chunk - 1 if chunk else None))


def journal_page(journal: Journal, asked: str, size: int = PAGE_ROWS) -> Slice:
    """What became of the files, chunk by chunk, in the order of the plan."""
    done = journal.done()
    chunk, offset = _place(asked)
    if not done:
        return Slice([])
    if chunk not in done:
        chunk, offset = done[0], 0
    place = done.index(chunk)
    rows = [verdict_row(row) for row in journal.read(chunk).rows]
    after = f"{done[place + 1]}.0" if place + 1 < len(done) else ""
    following = f"{chunk}.{offset + size}" if offset + size < len(rows) else after
    return Slice(rows[offset : offset + size], following, _before(chunk, offset, size, done[place - 1] if place else None))


def _place(asked: str) -> tuple[int, int]:
    chunk, _, offset = asked.partition(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 9 for part in (chunk, offset)):
        return 0, 0
    return int(chunk), min(int(offset), CHUNK_ROWS)


def _before(chunk: int, offset: int, size: int, chunk_before: int | None) -> str:
    if offset:
        return f"{chunk}.{max(offset - size, 0)}"
    return "" if chunk_before is None else f"{chunk_before}.0"
