"""What an audit is judged from, as frames; every one has ``audit_id``, so that many audits can share a run."""

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame

from spark_jobs.audit_request import JOB_COLUMNS

ROOTS = (
    "audit_id string, root string, as_of timestamp, age_guard_h double, clusters array<string>, blind boolean, attested boolean, "
    "unlisted bigint, known_authorities array<string>"
)
LISTING = "audit_id string, root string, path string, listed_path string, bytes bigint, modified timestamp"
JOBS = "audit_id string, " + ", ".join(f"{name} {type_}" for name, type_ in JOB_COLUMNS.items())
REFERENCES = (
    "audit_id string, root string, metadata_path string, metadata_bytes bigint, metadata_modified timestamp, ordinal bigint, "
    "checkpoint_id bigint, path string, written_path string, offset_bytes bigint, size_bytes bigint, inline_at bigint, "
    "task_owned_directory string, shared_directory string"
)
DOUBTS = "audit_id string, subject string, reason string, root string, detail string"
SEEN = (
    "audit_id string, root string, path string, first_seen_at timestamp, unreferenced_since timestamp, "
    "last_referred_at timestamp, last_referrer string, vanished_referrer string"
)
REFERRED = "audit_id string, metadata_path string, path string"
VANISHED = "audit_id string, metadata_path string"


@dataclass(frozen=True)
class Inputs:
    """Paths are canonical.

    ``jobs.restored_path`` is the directory restored from. ``references`` has a row with ordinal 0 for each ``_metadata``
    that was read to its end; rows of others are ignored. ``vanished`` are listed ``_metadata`` that were gone when read.
    ``seen`` and ``referred`` are what the audit before left: files, and who referred to them.
    """

    roots: DataFrame
    listing: DataFrame
    jobs: DataFrame
    references: DataFrame
    doubts: DataFrame
    vanished: DataFrame
    seen: DataFrame
    referred: DataFrame


def columns(ddl: str) -> list[str]:
    """Names of a schema text, without a session to parse it."""
    flat = ddl
    while (inner := re.sub(r"<[^<>]*>", "", flat)) != flat:
        flat = inner
    return [column.split()[0] for column in flat.split(",")]
