"""Which pieces of a log need no closer look, decided for a whole column at once by an automaton that never goes back.

An archive is mostly lines that nobody reads: looking at each of them in Python would cost several times as much as reading them.
"""

import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_logs.layouts import FLINK, Layout
from ingest.flink_logs.patterns import contained, starts

_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
"""A month's day that each year has."""
_HEADERS = {
    FLINK.name: f"^[0-9]{{2}}-{_DAY} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9],[0-9]{{3}} "
    r"(?:TRACE|DEBUG|INFO) +[^ \n-][^ \n]* +(?:[^\n]* )?- "
}
"""Valid headers of levels that are not kept for themselves, for layouts that are read this way."""


def noise(pieces: pa.BinaryArray, layout: Layout) -> np.ndarray | None:
    """True for pieces (see ``RecordSplitter.take``) that surely are records nobody keeps, whole and alone; None where that is not known.

    The others may be anything: the splitter decides.
    """
    header = _HEADERS.get(layout.name)
    if header is None or len(pieces) < 2:
        return None
    begins = _holds(pieces, header)
    alone: np.ndarray = begins & ~_holds(pieces, _read())
    alone[:-1] &= begins[1:]
    alone[-1] = False
    return alone


def _holds(pieces: pa.BinaryArray, regex: str) -> np.ndarray:
    found: np.ndarray = pc.match_substring_regex(pieces, regex).to_numpy(zero_copy_only=False)
    return found


@cache
def _read() -> str:
    """Whatever the table may read has one of these in its first line."""
    return f"^[^\\n]*(?: - (?:{_any(starts())})|{_any(contained())})"


def _any(pieces: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, pieces))
