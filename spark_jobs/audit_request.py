"""The request of an audit: JSON with roots and listings, and a Parquet file with jobs. Audits of
one request run together, so they may not share a root.
"""

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import fsspec
import pyarrow as pa

from ingest.errors import Refused
from ingest.storage.instants import refuse_future
from ingest.uris import Spellings, canonical
from spark_jobs.arrow_schemas import schema

AGE_GUARD_FLOOR_H = 24
AGE_GUARD_DEFAULT_H = 72

_INSTANT = pa.timestamp("ms", tz="UTC")
_ENDED = pa.struct(
    [
        ("checkpoint_id", pa.int64()),
        ("completed", pa.bool_()),
        ("discarded", pa.bool_()),
        ("triggered_at", _INSTANT),
        ("ended_at", _INSTANT),
        ("reason", pa.string()),
    ]
)
JOB_SCHEMA = schema(
    cluster="text",
    job_id="text",
    name="text",
    state="text",
    started_at=_INSTANT,
    redeployed_at=_INSTANT,
    ended_at=_INSTANT,
    terminal="flag",
    seen="flag",
    recorded="flag",
    restored_path="text",
    restored_is_savepoint="flag",
    restored_at=_INSTANT,
    restore_unread="flag",
    reads_restored="flag",
    last_completed_id="int",
    last_completed_at=_INSTANT,
    last_completed_path="text",
    completed_unread="flag",
    keeps_last="flag",
    in_flight_since=_INSTANT,
    checkpoints_ended=pa.list_(_ENDED),
)
"""The columns of the jobs file; columns that a file lacks are null.

``terminal``: the job was seen FINISHED, CANCELED or FAILED. ``seen``: its cluster is reachable.
``recorded``: it is known only from a recording. ``started_at``, ``ended_at``: of its present run.
``redeployed_at``: when Flink last began to deploy all tasks; no running attempt is older.
``last_completed_path``: the path of its newest checkpoint, which shows where the job writes.
``keeps_last``: whether Flink keeps the last checkpoint of a job with this end; null counts as true.
``completed_unread``: it may have completed later checkpoints that Weir did not see.
``restore_unread``: Weir does not know whether it was restored. ``reads_restored``: while it runs,
its database may read files of the snapshot it was restored from, even if no checkpoint refers to
them. ``in_flight_since``: trigger of its oldest pending checkpoint. ``checkpoints_ended``:
checkpoints that never completed (``completed`` false) or were discarded. Their ``triggered_at``,
``ended_at`` and ``reason`` (Flink's CheckpointFailureReason) show which of them left a file in
``shared/``.
"""


@dataclass(frozen=True)
class UnlistedDirectory:
    """``other``: a link's target, or the directory's other name."""

    subject: str
    reason: str = ""
    detail: str = ""
    other: str = ""


@dataclass(frozen=True)
class Statement:
    """A statement of an operator (``storage_words.STATEMENTS``). ``subject``: canonical directory
    or file, empty if only ``cluster`` and ``job_id`` are known. ``bytes``, ``modified`` and
    ``head_sha256`` identify a file.
    """

    kind: str
    subject: str
    stated_at: datetime
    cluster: str = ""
    job_id: str = ""
    bytes: int | None = None
    modified: datetime | None = None
    head_sha256: str = ""


@dataclass(frozen=True)
class AuditedRoot:
    """``uri`` is canonical. ``listing``: directory or glob of Parquet files. ``clusters`` may write
    below the root; if empty, any may. ``unreachable``: those that Weir cannot reach now.
    ``unreachable_elsewhere``: others, whose jobs may have been restored from here.
    """

    uri: str
    listing: str
    read_at: str | None = None
    clusters: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    unreachable_elsewhere: tuple[str, ...] = ()
    attested: bool = False
    unlisted: tuple[UnlistedDirectory, ...] = ()


@dataclass(frozen=True)
class Audit:
    """``as_of`` is when the first of its listings began."""

    audit_id: str
    as_of: datetime
    roots: tuple[AuditedRoot, ...]
    jobs: str
    age_guard_h: float = AGE_GUARD_DEFAULT_H
    spellings: Spellings = field(default_factory=Spellings)
    statements: tuple[Statement, ...] = ()


def read(uri: str, now: datetime) -> tuple[Audit, ...]:
    """The audits of a request file, whose paths are relative to its folder. Raises Refused if the
    file is missing or not valid.
    """
    try:
        with fsspec.open(uri, "rb") as file:
            raw = json.loads(file.read())
        audits = tuple(audit_of(audit, posixpath.dirname(uri)) for audit in raw["audits"])
    except FileNotFoundError as error:
        raise Refused(f"There is no request at {uri}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Refused(
            f"The request at {uri} is not one of an audit ({type(error).__name__}: {error})."
        ) from error
    for audit in audits:
        refuse_future(audit.as_of, now, f"as_of of audit {audit.audit_id} in {uri}")
    _refuse_overlap(audits)
    return audits


def audit_of(raw: Mapping[str, Any], folder: str = "") -> Audit:
    as_of = datetime.fromisoformat(raw["as_of"])
    if as_of.tzinfo is None:
        raise ValueError("as_of has no time zone")
    guard = float(raw.get("age_guard_h") or AGE_GUARD_DEFAULT_H)
    if guard < AGE_GUARD_FLOOR_H:
        raise Refused(
            f"An age guard of {guard:g} h is too short: checkpoints may take long; at least "
            f"{AGE_GUARD_FLOOR_H} h."
        )
    spellings = Spellings(tuple((str(old), str(new)) for old, new in raw.get("spellings") or ()))
    roots = tuple(_root(root, folder, spellings) for root in raw["roots"])
    if not roots:
        raise ValueError("no roots")
    return Audit(
        str(raw["audit_id"]),
        as_of.astimezone(UTC),
        roots,
        _resolve(folder, raw["jobs"]),
        guard,
        spellings,
        tuple(_statement(statement, spellings) for statement in raw.get("statements") or ()),
    )


def _statement(raw: Mapping[str, Any], spellings: Spellings) -> Statement:
    instants = {
        name: datetime.fromisoformat(raw[name]).astimezone(UTC)
        for name in ("stated_at", "modified")
        if raw.get(name)
    }
    subject = canonical(raw["subject"], spellings) if raw["subject"] else ""
    return Statement(**dict(raw) | {"subject": subject, "modified": None} | instants)


def _root(raw: Mapping[str, Any], folder: str, spellings: Spellings) -> AuditedRoot:
    return AuditedRoot(
        uri=canonical(raw["uri"], spellings),
        listing=_resolve(folder, raw["listing"]),
        read_at=raw.get("read_at") or None,
        clusters=tuple(raw.get("clusters") or ()),
        unreachable=tuple(raw.get("unreachable") or ()),
        unreachable_elsewhere=tuple(raw.get("unreachable_elsewhere") or ()),
        attested=bool(raw.get("attested")),
        unlisted=tuple(
            UnlistedDirectory(**{name: str(text or "") for name, text in entry.items()})
            for entry in raw.get("unlisted") or ()
        ),
    )


def _resolve(folder: str, path: str) -> str:
    is_absolute = "://" in path or path.startswith("/")
    return path if is_absolute or not folder else f"{folder}/{path}"


def _refuse_overlap(audits: tuple[Audit, ...]) -> None:
    # The slash at the end sorts a nested root directly after its outer root.
    roots = sorted(f"{root.uri.rstrip('/')}/" for audit in audits for root in audit.roots)
    for outer, inner in pairwise(roots):
        if inner.startswith(outer):
            raise Refused(f"The roots {outer} and {inner} overlap; audit the outer one alone.")
    if len({audit.audit_id for audit in audits}) != len(audits):
        raise Refused("Two audits of the request have the same audit_id.")
