from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from webapp.cleanup.journal import Journal
from webapp.cleanup.plan_reader import PlanReader
from webapp.lib.row_numbers import row_number


@dataclass(frozen=True)
class Slice:
    """``previous`` and ``next`` are page parameters, empty if there is no such page."""

    rows: list[dict[str, Any]]
    next: str = ""
    previous: str = ""


def files_page(reader: PlanReader, number: str) -> Slice:
    return _page(range(reader.manifest.chunks), number, reader.page)


def journal_page(journal: Journal, number: str) -> Slice:
    return _page(
        journal.finished_chunks(), number, lambda chunk: list(map(asdict, journal.read(chunk).rows))
    )


def _page(chunks: Sequence[int], number: str, read: Callable[[int], list[dict[str, Any]]]) -> Slice:
    """The rows of the chunk with this number, or else of the first chunk."""
    if not chunks:
        return Slice([])
    chunk = row_number(number)
    index = chunks.index(chunk) if chunk in chunks else 0
    next_number = str(chunks[index + 1]) if index + 1 < len(chunks) else ""
    return Slice(read(chunks[index]), next_number, str(chunks[index - 1]) if index else "")
