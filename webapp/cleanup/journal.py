"""Records what was done to each file. Journal files are never changed.

``journal/<verb>/<chunk>.<token>.intent.jsonl`` is written before a chunk and names the files about
to be touched. ``<chunk>.effect.jsonl`` is written afterwards and has the outcome of every file of
the chunk. A chunk without effect was interrupted; its intents name the files to check. The first
line of a file says who wrote it and when; in an effect it also has the SHA-256 of the previous
effect, so that a removed effect is noticed. The last line is a seal that only Weir can make.
"""

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from ingest.storage.plan_folder import PlanFolder
from webapp.cleanup.errors import PlanDamaged
from webapp.cleanup.seals import is_genuine, with_seal, without_seal
from webapp.lib.instants import iso_text

APPLY, UNDO, PURGE = "apply", "undo", "purge"
VERBS = (APPLY, UNDO, PURGE)
_NAME = re.compile(r"(\d{8,})\.(?:effect|[0-9a-f]{12}\.intent)\.jsonl")


@dataclass(frozen=True)
class Row:
    """Outcome of one file. ``bytes`` are as planned; ``detail`` says why nothing was done.

    For a file that waits in place: ``way`` (``choices.Way``), ``version`` (id of the hidden
    version), ``markers`` (ids of the delete markers that hide it).
    """

    path: str
    outcome: str
    bytes: int
    at: str
    quarantine: str | None = None
    detail: str | None = None
    way: str | None = None
    version: str | None = None
    markers: Sequence[str] | None = None


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
    """``by`` is the writing attempt, ``ordered_by`` the person who ordered it."""

    def __init__(
        self, folder: PlanFolder, plan: str, verb: str, by: str = "", ordered_by: str = ""
    ) -> None:
        self._folder, self._plan, self._verb = folder, plan, verb
        self._by, self._ordered_by = by, ordered_by
        self._last_digest: str | None = None

    @cached_property
    def _interrupted(self) -> set[int]:
        """Chunks begun before this journal was opened; cached, since listing is expensive."""
        return set(self.open_chunks())

    @cached_property
    def _previous_digest(self) -> str | None:
        """SHA-256 of the last effect before this journal was opened."""
        finished = self.finished_chunks()
        if not finished:
            return None
        chunk = min(finished) if self._verb == UNDO else max(finished)
        content = self._folder.read(self._path(f"{chunk:08}.effect.jsonl"))
        return hashlib.sha256(content).hexdigest()

    def finished_chunks(self) -> list[int]:
        """Chunks with an effect, ascending."""
        files = self.files_by_chunk()
        return sorted(chunk for chunk, names in files.items() if any(map(_is_effect, names)))

    def open_chunks(self) -> list[int]:
        """Chunks with an intent and no effect."""
        files = self.files_by_chunk()
        return sorted(chunk for chunk, names in files.items() if not any(map(_is_effect, names)))

    def files_by_chunk(self) -> dict[int, list[str]]:
        """Chunk → names of its journal files. Raises :class:`PlanDamaged` for unknown names."""
        names_by_chunk: dict[int, list[str]] = {}
        for name in self._names():
            match = _NAME.fullmatch(name)
            if match is None:
                raise PlanDamaged(
                    f"{self._folder.uri}/{self._path(name)} is no file of a journal; remove it, "
                    "then continue."
                )
            names_by_chunk.setdefault(int(match[1]), []).append(name)
        return names_by_chunk

    def intents(self, chunk: int) -> dict[str, set[str]]:
        """Paths that an interrupted attempt intended to touch → ids of their versions."""
        if chunk not in self._interrupted:
            return {}
        return self._read_intents(chunk, self._names())

    def write_intent(self, chunk: int, files: Mapping[str, str | None], at: datetime) -> None:
        """``files``: path → id of its version, ``None`` if the store has none."""
        head = self._head(chunk, "intent", at)
        name = f"{chunk:08}.{secrets.token_hex(6)}.intent.jsonl"
        lines = [
            {"path": path} if version is None else {"path": path, "version": version}
            for path, version in files.items()
        ]
        self._folder.write(self._path(name), _sealed([head, *lines]))

    def write_effect(self, chunk: int, rows: Sequence[Row], at: datetime) -> None:
        """Raises ``AlreadyWritten`` if another process has done the chunk."""
        head = self._head(chunk, "effect", at) | {
            "previous": self._last_digest or self._previous_digest,
            "counts": tally(rows),
        }
        content = _sealed(
            [
                head,
                *(
                    {name: value for name, value in vars(row).items() if value is not None}
                    for row in rows
                ),
            ]
        )
        self._folder.write(self._path(f"{chunk:08}.effect.jsonl"), content)
        self._last_digest = hashlib.sha256(content).hexdigest()

    def read(self, chunk: int) -> Effect:
        """Raises ``FileNotFoundError`` and :class:`PlanDamaged`."""
        content = self._folder.read(self._path(f"{chunk:08}.effect.jsonl"))
        try:
            head, *rows = _lines(content)
            parsed = [Row(**row) for row in rows]
        except (ValueError, TypeError) as error:
            raise self._damaged(chunk, "cannot be read") from error
        if (
            head.get("plan") != self._plan
            or head.get("chunk") != chunk
            or head.get("verb") != self._verb
        ):
            raise PlanDamaged(
                f"The journal of plan {self._plan[:12]} holds a file of another one; restore it "
                "from a backup."
            )
        return Effect(head, parsed)

    def verify(self) -> None:
        """Raises :class:`PlanDamaged` if somebody else changed, added or removed an effect."""
        previous = None
        for chunk in sorted(self.finished_chunks(), reverse=self._verb == UNDO):
            content = self._folder.read(self._path(f"{chunk:08}.effect.jsonl"))
            if not is_genuine(content):
                raise self._damaged(chunk, "was changed after it was written")
            if self.read(chunk).head.get("previous") != previous:
                raise self._damaged(
                    chunk, "was changed after it was written: what stood before it was another"
                )
            previous = hashlib.sha256(content).hexdigest()

    def refuse_foreign(
        self, chunk: int, names: Sequence[str], planned: Mapping[str, tuple[int, str]]
    ) -> None:
        """Raises :class:`PlanDamaged` if the journal files ``names`` of a chunk have files that the
        plan lacks, or other places. ``planned``: path → bytes and place in quarantine.
        """
        foreign = [path for path in self._read_intents(chunk, names) if path not in planned]
        if any(map(_is_effect, names)):
            rows = self.read(chunk).rows
            foreign += [row.path for row in rows if not _is_as_planned(row, planned)]
            if len({row.path for row in rows}) != len(rows):
                raise self._damaged(chunk, "names a file twice")
        if foreign or not planned:
            raise self._damaged(
                chunk,
                f"names {foreign[0] if foreign else 'files'}, which the plan does not list so",
            )

    def _read_intents(self, chunk: int, names: Sequence[str]) -> dict[str, set[str]]:
        versions_by_path: dict[str, set[str]] = {}
        for name in names:
            if name.startswith(f"{chunk:08}.") and not _is_effect(name):
                try:
                    for line in _lines(self._folder.read(self._path(name)))[1:]:
                        versions = versions_by_path.setdefault(line["path"], set())
                        if "version" in line:
                            versions.add(line["version"])
                except (ValueError, KeyError, TypeError) as error:
                    raise self._damaged(chunk, "has an intent that cannot be read") from error
        return versions_by_path

    def _damaged(self, chunk: int, how: str) -> PlanDamaged:
        return PlanDamaged(
            f"The journal of plan {self._plan[:12]} {how}: chunk {chunk} of {self._verb}. Nothing "
            f"is moved or deleted on its word: restore {self._folder.uri}/journal from a backup "
            "(or the WEIR_SECRET_KEY that sealed it), then continue."
        )

    def counts(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for chunk in self.finished_chunks():
            total.update(self.read(chunk).counts)
        return total

    def _head(self, chunk: int, kind: str, at: datetime) -> dict[str, Any]:
        return {
            "plan": self._plan,
            "verb": self._verb,
            "chunk": chunk,
            "record": kind,
            "at": iso_text(at),
            "by": self._by,
            "ordered_by": self._ordered_by,
        }

    def _names(self) -> list[str]:
        return self._folder.names(f"journal/{self._verb}")

    def _path(self, name: str) -> str:
        return f"journal/{self._verb}/{name}"


def _is_effect(name: str) -> bool:
    return name.endswith(".effect.jsonl")


def _is_as_planned(row: Row, planned: Mapping[str, tuple[int, str]]) -> bool:
    if row.path not in planned:
        return False
    size, quarantine = planned[row.path]
    return row.bytes == size and row.quarantine in (None, quarantine)


def _sealed(lines: Sequence[Mapping[str, Any]]) -> bytes:
    return with_seal(
        b"".join(
            json.dumps(line, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"
            for line in lines
        )
    )


def _lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in without_seal(content).splitlines()]
