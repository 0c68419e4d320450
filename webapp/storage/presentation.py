"""Presents figures of an audit: parts of a bar, sentences for codes, sums over roots."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ingest.uris import is_below
from spark_jobs.storage_words import (
    ACTIONS,
    ALL_ROOTS,
    DOUBTS,
    KINDS,
    NOT_CLEANABLE,
    REACHES,
    REASONS,
    TWO_NAMES,
    VERDICTS,
)
from webapp.charts.storage import word_of
from webapp.lib import scopes
from webapp.lib.translations import gettext_lazy as _
from webapp.lib.translations import marked
from webapp.storage.choices import StatementKind
from webapp.storage.models import AuditDoubt, RootFigures, StorageAudit, VerdictFigures

# Marked for translation; the template filter `words` shows them.
CODE_WORDS = marked(
    "live",
    "retained waste",
    "orphan",
    "recent",
    "kept",
    "referred",
    "snapshot",
    "restored from",
    "superseded",
    "attested dead",
    "excluded",
    "unreferenced",
    "age guard",
    "in flight",
    "ended recently",
    "first audit",
    "no checkpoint since",
    "unknown name",
    "savepoint",
    "no job level",
    "in doubt",
    "unreadable snapshot",
    "vanished",
    "bad time",
    "two owners",
    "writer unknown",
    "job unseen",
    "referrer unread",
    "last unfound",
    "was unlisted",
    "referrer lost",
    "earlier run",
    "later run",
    "task owned",
    "task owned needed",
    "task owned unknown",
    "was referred",
    "other spelling",
    "unacknowledged",
    "failed checkpoint",
    "dead job",
    "merging remainder",
    "ended attempt",
    "unfinished metadata",
    "undeleted",
    "unknown",
    "metadata",
    "exclusive",
    "shared",
    "taskowned",
    "merged shared",
    "merged taskowned",
    "database",
    "refers",
    "split distribute",
    "union",
    "broadcast",
    "checkpoints",
    "savepoints",
    "high availability",
    "quarantined",
    "changed",
    "gone",
    "judged again",
    "linked",
    "failed",
    "not reached",
    "restored",
    "occupied",
    "purged",
    "checkpoint",
    "local",
    "canceled",
    "cancelling",
    "finished",
    "failing",
    "suspended",
    "restarting",
    "created",
    "initializing",
    "reconciling",
)

MISSING = "missing"
PLACES_SHOWN = 5
_NAMES_OTHER_ROOTS = (TWO_NAMES, "restored_from_gone")
"""Doubts whose detail may name a place or a job of another root."""
_FORM_FIELDS = ("kind", "subject", "cluster", "job_id")
"""Fields of a statement that the address of its form contains."""
MISSING_MEANS = _(
    "Referred to by a checkpoint, and not there: whatever needs it cannot be restored."
)


@dataclass(frozen=True)
class Part:
    """One verdict of a bar; ``left`` and ``width`` in percent."""

    verdict: str
    files: int
    bytes: int
    share: float | None
    left: float
    width: float

    @property
    def word(self) -> str:
        return word_of(self.verdict)

    @property
    def means(self) -> str:
        return VERDICTS.get(self.verdict, MISSING_MEANS)


def parts(row: Any) -> tuple[Part, ...]:
    """The parts of a bar. ``row`` has the columns of all verdicts: a root, a job, or sums."""
    counts = [(name, _count(row, name, "files"), _count(row, name, "bytes")) for name in VERDICTS]
    total = sum(size for _name, _files, size in counts)
    shown, left = [], 0.0
    for name, files, size in counts:
        width = 100 * size / total if total else 0.0
        shown.append(
            Part(
                name, files, size, size / total if total else None, round(left, 3), round(width, 3)
            )
        )
        left += width
    return tuple(shown)


def _count(row: Any, name: str, unit: str) -> int:
    value = (
        row.get(f"{name}_{unit}") if isinstance(row, Mapping) else getattr(row, f"{name}_{unit}")
    )
    return int(value or 0)


def summed(rows: Iterable[RootFigures]) -> dict[str, int]:
    """Sums over roots, with the columns of a root."""
    names = [f"{name}_{unit}" for name in (*VERDICTS, MISSING) for unit in ("files", "bytes")]
    all_rows = list(rows)
    return {
        name: sum(getattr(row, name) for row in all_rows)
        for name in (*names, "files", "bytes", "checkpoints")
    }


def reasons(rows: Sequence[VerdictFigures]) -> list[tuple[VerdictFigures, str, str]]:
    """Each row with the words of its reason and of its kind, by verdict, most bytes first."""
    order = {name: place for place, name in enumerate(VERDICTS)}
    ordered = sorted(
        rows,
        key=lambda row: (order.get(row.verdict, len(order)), -row.bytes, row.reason, row.kind),
    )
    return [
        (
            row,
            REASONS.get(row.verdict, {}).get(row.reason, row.reason.replace("_", " ")),
            KINDS.get(row.kind, row.kind.replace("_", " ")),
        )
        for row in ordered
    ]


def why_not_cleanable(codes: Sequence[str], withheld: str) -> list[str]:
    """A sentence for each code; ``withheld`` replaces the one that the root is not attested."""
    return [
        withheld
        if withheld and code == "not_attested"
        else NOT_CLEANABLE.get(code, code.replace("_", " "))
        for code in codes
    ]


@dataclass(frozen=True)
class ShownDoubt:
    """``actions``: what an operator can do; each of ``statements`` would end the doubt."""

    row: AuditDoubt
    means: str
    reach: str
    actions: tuple[str, ...]
    statements: tuple[tuple[str, str], ...]
    """(words, query of the form)"""

    @property
    def places(self) -> list[str]:
        shown: list[str] = self.row.places[:PLACES_SHOWN]
        return shown

    @property
    def more_places(self) -> int:
        return len(self.row.places) + self.row.more_places - len(self.places)


def visible_doubt(row: AuditDoubt) -> AuditDoubt:
    """The doubt without places, sizes and details that the current user may not see."""
    if scopes.current().is_everything:
        return row
    visible = copy(row)
    visible.places = [place for place in row.places if is_below(place, row.root)]
    is_within = row.reach != ALL_ROOTS and len(visible.places) == len(row.places)
    if not is_within or row.more_places:
        visible.more_places = 0
        for name in ("blocked_files", "blocked_bytes"):
            setattr(visible, name, None)
    if row.reason in _NAMES_OTHER_ROOTS:
        visible.detail = None
    visible.statements = []
    return visible


def shown_doubt(row: AuditDoubt) -> ShownDoubt:
    row = visible_doubt(row)
    doubt = DOUBTS.get(row.reason)
    forms = {}
    for statement in row.statements:
        query = urlencode({name: statement[name] for name in _FORM_FIELDS if statement.get(name)})
        forms[query] = StatementKind(statement["kind"]).label
    return ShownDoubt(
        row,
        doubt.meaning if doubt else row.reason.replace("_", " "),
        REACHES.get(row.reach, row.reach),
        tuple(ACTIONS[action] for action in doubt.actions) if doubt else (),
        tuple((words, query) for query, words in forms.items()),
    )


SECOND_NAMES_SHOWN = 2


def second_names(audit: StorageAudit, root: str) -> list[str]:
    """Up to two sentences about directories of the root that have a second name."""
    rows = AuditDoubt.objects.filter(audit=audit, root=root, reason=TWO_NAMES).order_by("subject")
    return [
        f"{row.subject}: {row.detail}"
        for row in map(visible_doubt, rows[:SECOND_NAMES_SHOWN])
        if row.detail
    ]
