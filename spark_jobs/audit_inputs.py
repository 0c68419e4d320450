import posixpath
import re
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

import fsspec
import pyarrow as pa

from ingest.errors import Refused
from ingest.network.uris import spelled_as
from ingest.parquet_stream import open_parquet
from ingest.storage.snapshots import BAD_NAME, LINK, LISTED, SECOND_NAME, Snapshot
from ingest.uris import Spellings, canonical
from spark_jobs.audit_locally import LocalEngine
from spark_jobs.audit_request import Audit, AuditedRoot, UnlistedDirectory
from spark_jobs.audit_tables import PENDING
from spark_jobs.manifest import Manifest
from spark_jobs.paths import absolute_root
from spark_jobs.storage.plain import US_PER_S, Row, plain_rows
from spark_jobs.storage.previous_audit import STATES
from spark_jobs.storage.reading import JOBS, job_rows
from spark_jobs.storage.reference_sums import AUTHORITY
from spark_jobs.storage_words import TWO_NAMES

FILE_STATES = ("storage_file", "storage_live", "storage_absent")
REFERENCE_STATES = ("storage_reference", PENDING)
MOST_LINKS = 100
"""Of a root. With more links, a listing that does not follow them is not whole anywhere."""


def root_rows(audits: Sequence[Audit]) -> list[Row]:
    return [_root_row(audit, root) for audit in audits for root in audit.roots]


def _root_row(audit: Audit, root: AuditedRoot) -> Row:
    known_uris = [
        *(audited.uri for audited in audit.roots),
        *(canonical(target) for _, target in audit.spellings.aliases),
    ]
    return {
        "audit_id": audit.audit_id,
        "root": root.uri,
        "as_of": round(audit.as_of.timestamp() * US_PER_S),
        "age_guard_h": audit.age_guard_h,
        "clusters": list(root.clusters),
        "unreachable": bool(root.unreachable),
        "any_unreachable": bool(root.unreachable or root.unreachable_elsewhere),
        "attested": root.attested,
        "unlisted": sum(_doubt_of(directory) != TWO_NAMES for directory in root.unlisted),
        "links": [entry.subject for entry in root.unlisted if entry.reason == LINK][:MOST_LINKS],
        "known_authorities": sorted(
            {match[0] for uri in known_uris if (match := re.match(AUTHORITY, uri))}
        ),
    }


def listing_files(listing: str) -> list[str]:
    """The listing's Parquet files. Raises Refused if it is not complete."""
    root = absolute_root(listing)
    filesystem, path = fsspec.core.url_to_fs(root)
    if any(character in path for character in "*?["):
        names = filesystem.glob(path)
    elif not filesystem.isdir(path):
        raise Refused(f"There is no listing at {listing}.")
    elif Snapshot(listing).listed() is None:
        raise Refused(
            f"The listing at {listing} is not complete ({LISTED} is missing); finish it first."
        )
    else:
        listed = map(str, filesystem.ls(path, detail=False))
        names = [name for name in listed if posixpath.basename(name).startswith("part-")]
    return sorted(spelled_as(root, filesystem, name) for name in names)


def jobs(audits: Sequence[Audit]) -> list[Row]:
    """Rows of job files; missing columns are null. A file may serve several audits (``audit_id``).
    Raises Refused if a file is missing.
    """
    return job_rows(
        pa.concat_tables([JOBS.empty_table(), *map(_jobs, audits)]), spellings_of(audits)
    )


def _jobs(audit: Audit) -> pa.Table:
    try:
        with open_parquet(absolute_root(audit.jobs)) as parquet:
            rows = parquet.read()
    except FileNotFoundError as error:
        raise Refused(f"There is no file of jobs at {audit.jobs}.") from error
    plain = [{"audit_id": audit.audit_id} | row for row in rows.to_pylist()]
    return pa.Table.from_pylist([row for row in plain if row["audit_id"] == audit.audit_id], JOBS)


def unlisted_doubts(audits: Sequence[Audit]) -> list[Row]:
    return [
        {
            "audit_id": audit.audit_id,
            "subject": directory.subject,
            "reason": _doubt_of(directory),
            "root": root.uri,
            "detail": directory.detail or directory.reason,
            "other": directory.other,
        }
        for audit in audits
        for root in audit.roots
        for directory in root.unlisted
    ]


def _doubt_of(directory: UnlistedDirectory) -> str:
    doubts = {SECOND_NAME: TWO_NAMES, LINK: "link", BAD_NAME: "bad_name"}
    return doubts.get(directory.reason, "unlisted")


def statement_rows(audits: Sequence[Audit]) -> list[Row]:
    return [
        {"audit_id": audit.audit_id}
        | asdict(statement)
        | {name: _us(getattr(statement, name)) for name in ("stated_at", "modified")}
        for audit in audits
        for statement in audit.statements
    ]


def _us(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * US_PER_S)


def spellings_of(audits: Sequence[Audit]) -> dict[str, Spellings]:
    return {audit.audit_id: audit.spellings for audit in audits if audit.spellings.aliases}


def state_rows(previous: Sequence[Manifest], audits: Sequence[Audit]) -> dict[str, list[Row]]:
    """Rows of ``previous_audit.STATES``, paths in their current spelling."""
    state = {}
    for name, (schema, path_columns) in STATES.items():
        rows = plain_rows(LocalEngine().read(state_files(previous, (name,)), schema))
        for spellings in spellings_of(audits).values():
            rows = [
                row | {path: canonical(row[path], spellings) for path in path_columns if row[path]}
                for row in rows
            ]
        state[name] = rows
    return state


def state_files(previous: Sequence[Manifest], names: Sequence[str]) -> list[str]:
    return [file for manifest in previous for file in manifest.state_files(*names)]
