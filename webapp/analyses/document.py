"""What an analysis answers: a frozen tree of few kinds of blocks, which every door draws by itself.

Texts are messages (``ingest.messages``) or names that others gave. Values are plain: numbers in the
unit that stands beside them, aware instants, texts; ``None`` is unknown and shown as that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import plotly.graph_objects as go

from webapp.lib.filter_sets import ListFilters

Unit = Literal[
    "text",  # a name, a word, a message
    "mono",  # an id, an option, a path
    "flag",  # True, False
    "count",
    "number",
    "ms",
    "bytes",
    "binary",  # bytes, a power of two
    "share",  # 0 … 1
    "factor",  # 1 is as much as
    "per_s",
    "instant",  # an aware datetime
    "host",  # its name
    "checkpoint",  # its id
    "stack",  # frames of a thread, innermost first, one a line
]
"""What a value is, which decides how it is written, aligned and linked."""


@dataclass(frozen=True)
class Link:
    text: str
    url: str


Tone = Literal["ok", "warn", "crit", "unknown", "done"]
Value = str | int | float | bool | datetime | Link | None

SHAPES: Mapping[Tone, str] = {"ok": "●", "warn": "◆", "crit": "▲", "unknown": "?", "done": "○"}


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, first on every door."""

    tone: Tone
    sentence: str

    @property
    def shape(self) -> str:
        return SHAPES[self.tone]


@dataclass(frozen=True)
class Fact:
    """One figure. ``key`` names it for programs; ``note`` says from where it is, or what it
    means.
    """

    key: str
    name: str
    value: Value
    unit: Unit = "text"
    note: str = ""


@dataclass(frozen=True)
class Facts:
    facts: tuple[Fact, ...]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class Column:
    """``meaning`` explains the heading to who points at it."""

    key: str
    name: str
    unit: Unit = "text"
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """``rows`` have a value a column, the one that matters most first; pages show a hundred.
    ``total``: of how many these are the first, where there are more."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    subtitle: str = ""
    note: str = ""
    empty: str = ""
    total: int | None = None
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Chart:
    """A figure of Plotly with what it is drawn from, which the API gives and a page reads out;
    ``figure`` is drawn when asked for.
    """

    key: str
    title: str
    note: str = ""
    subtitle: str = ""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True)
class Advice:
    """What to do, most useful first."""

    lines: tuple[str, ...]
    title: str = ""
    kind: Literal["advice"] = "advice"


@dataclass(frozen=True)
class Note:
    text: str
    kind: Literal["note"] = "note"


@dataclass(frozen=True)
class NotKnown:
    """That something is not known, why, and what would make it known."""

    reason: str
    kind: Literal["not_known"] = "not_known"


Block = Facts | Table | Chart | Advice | Note | NotKnown


@dataclass(frozen=True)
class Document:
    verdict: Verdict
    blocks: tuple[Block, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Table))


@dataclass(frozen=True)
class Drawn:
    """A figure of Plotly; or, where there is nothing to draw, why."""

    figure: go.Figure | None = None
    note: str = ""
    empty_title: str = ""
    empty_text: str = ""


@dataclass(frozen=True)
class Asked:
    """For what an analysis is asked: what happened from ``since`` to ``until``, with the values of
    its parameters.

    An analysis of the fleet is asked as of now: all three instants are that. One of a root is asked
    as of its newest audit.
    """

    since: datetime
    until: datetime
    now: datetime
    parameters: ListFilters = field(default_factory=lambda: ListFilters({}))
