"""The request of an audit: a JSON file names the roots and their listings, a Parquet file holds the
jobs. Audits of one request share one Spark run, so none may name a root of another.
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
"""Of the jobs file; columns that a file lacks are null.

``last_completed_path``: where its newest checkpoint was written, which tells the directory that the
job writes. ``keeps_last``: whether Flink leaves the last checkpoint of a job that ended as this one
did; null counts as true. ``terminal``: seen FINISHED, CANCELED or FAILED. ``seen``: its cluster is
not unreachable. ``recorded``: only a recording tells of it. ``started_at``, ``ended_at``: of its
present run. ``redeployed_at``: when Flink last began to deploy all of its tasks, so that none of
its attempts is older. ``completed_unread``: it may have completed later ones, of which nobody read.
``restore_unread``: nobody has read whether it was restored. ``reads_restored``: as long as it runs
its database may read the files of what it was restored from, whatever its checkpoints refer to.
``in_flight_since``: when the oldest pending checkpoint was triggered. ``checkpoints_ended``: those
known to have never completed (``completed`` false) or to have been discarded; ``triggered_at``,
``ended_at`` and ``reason`` (Flink's CheckpointFailureReason) tell which of them left a file in
``shared/``.
"""


@dataclass(frozen=True)
class UnlistedDirectory:
    """``other``: the target of a link, or the other name of a directory."""

    subject: str
    reason: str = ""
    detail: str = ""
    other: str = ""


@dataclass(frozen=True)
class Statement:
    """What an operator stated (``storage_words.STATEMENTS``). ``subject``: canonical directory or
    file; empty for a job that is known by ``cluster`` and ``job_id`` alone. ``bytes``, ``modified``
    and ``head_sha256`` recognise a file.
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
    """``uri`` is canonical. ``listing`` is a directory or glob of Parquet. ``clusters`` may write
    below it (empty: any). ``unreachable``: those of them that cannot be seen at present;
    ``unreachable_elsewhere``: other such clusters, whose jobs may have been restored from here.
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
    """Audits of a request file; relative paths in it are relative to its folder. Raises
    ``Refused``.
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
        _beside(folder, raw["jobs"]),
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
        listing=_beside(folder, raw["listing"]),
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


def _beside(folder: str, path: str) -> str:
    return path if "://" in path or path.startswith("/") or not folder else f"{folder}/{path}"


def _refuse_overlap(audits: tuple[Audit, ...]) -> None:
    # With a slash at the end of each, nested roots directly follow the outer one.
    roots = sorted(f"{root.uri.rstrip('/')}/" for audit in audits for root in audit.roots)
    for outer, inner in pairwise(roots):
        if inner.startswith(outer):
            raise Refused(f"The roots {outer} and {inner} overlap; audit the outer one alone.")
    if len({audit.audit_id for audit in audits}) != len(audits):
        raise Refused("Two audits of the request have the same audit_id.")
