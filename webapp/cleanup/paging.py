"""Pages of a plan's files and of its journal for the API: a chunk each."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from webapp.cleanup.journal import Journal
from webapp.cleanup.plan_reader import PlanReader
from webapp.lib.row_numbers import row_number


@dataclass(frozen=True)
class Slice:
    """``previous`` and ``next`` are page parameters, empty if there is none."""

    rows: list[dict[str, Any]]
    next: str = ""
    previous: str = ""


def files_page(reader: PlanReader, asked: str) -> Slice:
    """Rows of the plan, unverified."""
    return _page(range(reader.manifest.chunks), asked, reader.page)


def journal_page(journal: Journal, asked: str) -> Slice:
    """What became of the files, in the order of the plan."""
    return _page(journal.done(), asked, lambda chunk: list(map(asdict, journal.read(chunk).rows)))


def _page(chunks: Sequence[int], asked: str, read: Callable[[int], list[dict[str, Any]]]) -> Slice:
    """The chunk that was asked for, or the first one if there is none of that number."""
    if not chunks:
        return Slice([])
    number = row_number(asked)
    place = chunks.index(number) if number in chunks else 0
    following = str(chunks[place + 1]) if place + 1 < len(chunks) else ""
    return Slice(read(chunks[place]), following, str(chunks[place - 1]) if place else "")
