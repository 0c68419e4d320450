"""The result of an analysis: a tree of blocks, which page, API, command and report render. Texts are
messages (``ingest.messages``) or users' names; plain texts of blocks become messages. Values are
numbers in the stated unit, aware instants or texts; ``None`` is unknown.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from datetime import datetime
from typing import Any, ClassVar, Literal, Self

from ingest.messages import PLACEHOLDER, Message, message
from webapp.charts.theme import Figure
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
    "factor",  # a ratio; 1 is no difference
    "per_s",
    "instant",  # an aware datetime
    "host",  # the name of a host
    "checkpoint",  # the id of a checkpoint
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


class _Declared:
    """``texts``: fields whose plain texts become messages. The catalogues have them, since
    :mod:`webapp.site.translations.extraction` finds them in the call.
    """

    texts: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in self.texts:
            text = getattr(self, name)
            # A text of an error may have braces.
            if text and not isinstance(text, Message) and not PLACEHOLDER.search(text):
                object.__setattr__(self, name, message(text))


@dataclass(frozen=True)
class Verdict(_Declared):
    """The answer in one sentence, shown first everywhere."""

    texts = ("sentence",)

    tone: Tone
    sentence: str

    @property
    def shape(self) -> str:
        return SHAPES[self.tone]


@dataclass(frozen=True)
class Fact(_Declared):
    """One value. ``key`` names it in JSON; ``note`` is its source or meaning."""

    texts = ("name", "note")

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
class Column(_Declared):
    """``meaning`` is the tooltip of the heading. ``value`` reads a cell from the item of its row. It
    is a function or a dotted path of attributes, by default ``key``. If an attribute on the path
    is None, the cell is None.
    """

    texts = ("name", "meaning")

    key: str
    name: str
    unit: Unit = "text"
    meaning: str = ""
    value: Callable[[Any], Value] | str = field(default="", metadata={"is_public": False})

    def read_cell(self, item: Any) -> Value:
        if callable(self.value):
            return self.value(item)
        for name in (self.value or self.key).split("."):
            if item is None:
                break
            item = item.get(name) if isinstance(item, Mapping) else getattr(item, name)
        cell: Value = item
        return cell


@dataclass(frozen=True)
class Table(_Declared):
    """``rows`` have a value per column, the most important row first; pages show the first hundred.
    ``total``: number of rows before they were cut, else None.
    """

    texts = ("title", "subtitle", "note", "empty")

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    subtitle: str = ""
    note: str = ""
    empty: str = ""
    total: int | None = None
    kind: Literal["table"] = "table"

    @classmethod
    def of(
        cls,
        items: Iterable[Any],
        key: str,
        title: str,
        columns: Iterable[Column],
        *,
        most: int | None = None,
        **texts: str,
    ) -> Self:
        """A row for each of the first ``most`` items. ``texts``: subtitle, note, empty."""
        items, columns = tuple(items), tuple(columns)
        rows = tuple(tuple(column.read_cell(item) for column in columns) for item in items[:most])
        total = len(items) if len(items) > len(rows) else None
        return cls(key, title, columns, rows, total=total, **texts)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Chart(_Declared):
    """A Plotly figure, drawn on request by the declaration's ``draws(key)``."""

    texts = ("title", "note", "subtitle")

    key: str
    title: str
    note: str = ""
    subtitle: str = ""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True)
class Advice(_Declared):
    """What to do, most useful first."""

    texts = ("title",)

    lines: tuple[str, ...]
    title: str = ""
    kind: Literal["advice"] = "advice"


@dataclass(frozen=True)
class Note(_Declared):
    texts = ("text",)

    text: str
    kind: Literal["note"] = "note"


@dataclass(frozen=True)
class NotKnown(_Declared):
    """Why something is unknown, and how to make it known."""

    texts = ("reason",)

    reason: str
    kind: Literal["not_known"] = "not_known"


def public_fields(block: Any) -> list[Field[Any]]:
    """The fields of a dataclass that API and files contain."""
    return [field for field in fields(block) if field.metadata.get("is_public", True)]


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
    """A Plotly figure and a note on it; or, without a figure, what to show in its place."""

    figure: Figure | None = None
    note: str = ""
    empty_title: str = ""
    empty_text: str = ""


@dataclass(frozen=True)
class Inputs:
    """The range from ``since`` to ``until`` and the parameters of an analysis. For the fleet, both
    ends of the range are now; for a root, its newest audit.
    """

    since: datetime
    until: datetime
    now: datetime
    parameters: ListFilters = field(default_factory=lambda: ListFilters({}))
