"""The manifest of a plan: contents, statements, expiry. Its SHA-256 is the plan's name."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from webapp.cleanup.entries import CHUNK_ROWS
from webapp.cleanup.errors import PlanDamaged

FORMAT = 2
FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class PartEntry:
    """One Parquet part. ``bytes``: sum over the planned files; ``sha256``: of the part itself."""

    name: str
    rows: int
    bytes: int
    sha256: str
    first_path: str
    last_path: str

    @property
    def chunks(self) -> int:
        return -(-self.rows // CHUNK_ROWS)


@dataclass(frozen=True)
class PlannedRoot:
    """``moves``: how its files wait (:class:`webapp.cleanup.choices.Way`); ``quarantine`` is empty
    if they stay in place.
    """

    uri: str
    read_at: str
    quarantine: str
    moves: str = "rename"
    attested_by: str = ""
    attested_at: str | None = None
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class WithheldRoot:
    uri: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class QuotedStatement:
    subject: str
    stated_by: str
    stated_at: str
    reason: str


@dataclass(frozen=True)
class SearchedAudit:
    """An audit that found no referrer. ``as_of`` is ISO 8601 in UTC."""

    audit_id: str
    as_of: str
    metadata_files: int | None = None
    checkpoints: int | None = None
    files: int | None = None


@dataclass(frozen=True)
class PlanManifest:
    """``withheld_files``: reason → number. The first ``metadata_parts`` of ``parts`` have only
    ``_metadata``.
    """

    created_at: str
    created_by: str
    expires_at: str
    age_guard_h: int
    grace_s: int
    verdicts: tuple[str, ...]
    audits: tuple[SearchedAudit, ...]
    searched_roots: tuple[str, ...]
    roots: tuple[PlannedRoot, ...]
    withheld_roots: tuple[WithheldRoot, ...] = ()
    withheld_files: Mapping[str, int] = field(default_factory=dict)
    statements: tuple[QuotedStatement, ...] = ()
    parts: tuple[PartEntry, ...] = ()
    metadata_parts: int = 0
    format: int = FORMAT

    @property
    def total_files(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def total_bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def chunks(self) -> int:
        return sum(part.chunks for part in self.parts)

    def to_bytes(self) -> bytes:
        """Canonical bytes: equal contents have equal hashes."""
        return json.dumps(
            asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        ).encode()


def name_of(content: bytes) -> str:
    """The name of the plan with this manifest."""
    return hashlib.sha256(content).hexdigest()


def read(content: bytes, name: str) -> PlanManifest:
    """Raises :class:`PlanDamaged` if ``name`` is not the hash of ``content``."""
    if name_of(content) != name:
        raise PlanDamaged(
            f"The manifest is not that of plan {name[:12]}: it was changed after the plan was "
            "made. Make a new plan."
        )
    document = json.loads(content)
    if document.get("format") != FORMAT:
        raise PlanDamaged(
            f"Plan {name[:12]} has format {document.get('format')}, this Weir reads {FORMAT}. Make "
            "a new plan."
        )
    kinds: dict[str, Any] = {
        "audits": SearchedAudit,
        "roots": PlannedRoot,
        "statements": QuotedStatement,
        "parts": PartEntry,
    }
    for key, kind in kinds.items():
        document[key] = tuple(kind(**entry) for entry in document[key])
    document["withheld_roots"] = tuple(
        WithheldRoot(root["uri"], tuple(root["reasons"])) for root in document["withheld_roots"]
    )

    for key in ("verdicts", "searched_roots"):
        document[key] = tuple(document[key])
    return PlanManifest(**{entry.name: document[entry.name] for entry in fields(PlanManifest)})
