"""What was done to each file, written as it happens and never changed: an intent before a chunk, its effect after it.

``journal/<verb>/<chunk>.<token>.intent.jsonl`` names the files about to be touched, ``<chunk>.effect.jsonl`` says what became
of every file of the chunk. A chunk without effect was interrupted; its intents tell where to look. The first line of each
file tells who, when, and the SHA-256 of the effect before it, so that a line taken out later is missed.
"""

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from webapp.storage.cleanup.errors import PlanDamaged
from webapp.storage.cleanup.folder import PlanFolder
from webapp.storage.cleanup.manifest import instant_text

APPLY, UNDO, PURGE = "apply", "undo", "purge"
VERBS = (APPLY, UNDO, PURGE)


@dataclass(frozen=True)
class Row:
    """One file. ``bytes`` as planned; ``detail`` says what was found where it was not done."""

    path: str
    outcome: str
    bytes: int
    at: str
    quarantine: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class Effect:
    head: Mapping[str, Any]
    rows: Sequence[Row]

    @property
    def counts(self) -> Counter[str]:
        """Files by outcome, and ``<outcome>_bytes``."""
        return tally(self.rows)


def tally(rows: Sequence[Row]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.outcome] += 1
        counts[f"{row.outcome}_bytes"] += row.bytes
    return counts


class Journal:
    """Of one plan and verb. ``by`` is the attempt that writes, ``ordered_by`` the person on whose word."""

    def __init__(self, folder: PlanFolder, plan: str, verb: str, by: str = "", ordered_by: str = "") -> None:
        self._folder, self._plan, self._verb = folder, plan, verb
        self._by, self._ordered_by = by, ordered_by
        self._last: str | None = None

    @cached_property
    def _interrupted(self) -> set[int]:
        """Chunks that were begun when this journal was opened: listing it for each chunk would cost more than the files."""
        return set(self.begun())

    @cached_property
    def _follows(self) -> str | None:
        """Hash of the effect that was written last before this journal was opened."""
        done = self.done()
        return self._digest(min(done) if self._verb == UNDO else max(done)) if done else None

    def done(self) -> list[int]:
        """Chunks with an effect, ascending."""
        return [int(name.partition(".")[0]) for name in self._names() if name.endswith(".effect.jsonl")]

    def begun(self) -> list[int]:
        """Chunks with an intent and no effect."""
        intended = {int(name.partition(".")[0]) for name in self._names() if name.endswith(".intent.jsonl")}
        return sorted(intended - set(self.done()))

    def intents(self, chunk: int) -> list[str]:
        """Paths that an interrupted try wanted to touch."""
        if chunk not in self._interrupted:
            return []
        own = [name for name in self._names() if name.startswith(f"{chunk:08}.") and name.endswith(".intent.jsonl")]
        return [line["path"] for name in own for line in _lines(self._folder.read(self._path(name)))[1:]]

    def intend(self, chunk: int, paths: Sequence[str], at: datetime) -> None:
        head = self._head(chunk, "intent", at)
        name = f"{chunk:08}.{secrets.token_hex(6)}.intent.jsonl"
        self._folder.write(self._path(name), _bytes([head, *({"path": path} for path in paths)]))

    def effect(self, chunk: int, rows: Sequence[Row], at: datetime) -> None:
        """Raises ``AlreadyWritten`` where another process has done the chunk."""
        head = self._head(chunk, "effect", at) | {"previous": self._last or self._follows, "counts": tally(rows)}
        content = _bytes([head, *({name: value for name, value in asdict(row).items() if value is not None} for row in rows)])
        self._folder.write(self._path(f"{chunk:08}.effect.jsonl"), content)
        self._last = hashlib.sha256(content).hexdigest()

    def read(self, chunk: int) -> Effect:
        """Raises ``FileNotFoundError``."""
        content = self._folder.read(self._path(f"{chunk:08}.effect.jsonl"))
        head, *rows = _lines(content)
        if head.get("plan") != self._plan or head.get("chunk") != chunk:
            raise PlanDamaged(f"The journal of plan {self._plan[:12]} holds a file of another one; restore it from a backup.")
        return Effect(head, [Row(**row) for row in rows])

    def verify(self) -> None:
        """Raises :class:`PlanDamaged` where an effect was changed or taken out after the next one was written."""
        previous = None
        for chunk in sorted(self.done(), reverse=self._verb == UNDO):
            if self.read(chunk).head.get("previous") != previous:
                raise PlanDamaged(
                    f"The journal of plan {self._plan[:12]} was changed after it was written, before chunk {chunk} of {self._verb}. "
                    "Restore it from a backup: nothing is deleted on its word."
                )
            previous = self._digest(chunk)

    def counts(self) -> Counter[str]:
        """Of all effects together."""
        total: Counter[str] = Counter()
        for chunk in self.done():
            total.update(self.read(chunk).counts)
        return total

    def _digest(self, chunk: int) -> str:
        return hashlib.sha256(self._folder.read(self._path(f"{chunk:08}.effect.jsonl"))).hexdigest()

    def _head(self, chunk: int, kind: str, at: datetime) -> dict[str, Any]:
        said = {"plan": self._plan, "verb": self._verb, "chunk": chunk, "record": kind, "at": instant_text(at)}
        return said | {"by": self._by, "ordered_by": self._ordered_by}

    def _names(self) -> list[str]:
        return self._folder.names(f"journal/{self._verb}")

    def _path(self, name: str) -> str:
        return f"journal/{self._verb}/{name}"


def _bytes(lines: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode() + b"\n" for line in lines)


def _lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]
