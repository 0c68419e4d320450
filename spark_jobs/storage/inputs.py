"""What an audit is judged from, as frames; every one has ``audit_id``, so that many audits can share a run."""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from ingest.storage import snapshots
from spark_jobs.arrow_schemas import INSTANT, arrow_schema
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.audit_tables import STORAGE_DOUBT, STORAGE_FILE, STORAGE_REFERENCE
from spark_jobs.schemas import serving_schema, spark_schema
from spark_jobs.storage.parsing import PARSED

_AUDIT_ID = pa.field("audit_id", pa.string())

ROOTS = spark_schema(
    pa.schema(
        [
            _AUDIT_ID,
            ("root", pa.string()),
            ("as_of", INSTANT),
            ("age_guard_h", pa.float64()),
            ("clusters", pa.list_(pa.string())),
            ("blind", pa.bool_()),
            ("any_blind", pa.bool_()),
            ("attested", pa.bool_()),
            ("unlisted", pa.int64()),
            ("known_authorities", pa.list_(pa.string())),
        ]
    )
)
LISTING = spark_schema(pa.schema([_AUDIT_ID, *snapshots.SCHEMA]))
JOBS = spark_schema(pa.schema([_AUDIT_ID, *JOB_SCHEMA]))
_OF_REFERENCE = ("audit_id", "root", "metadata_path", "metadata_bytes", "metadata_modified", "ordinal", "checkpoint_id", "path",
                 "written_path", "offset_bytes", "size_bytes", "inline_at", "task_owned_directory", "shared_directory")  # fmt: skip
REFERENCES = spark_schema(pa.schema([PARSED.field(name) for name in _OF_REFERENCE]))
DOUBTS = serving_schema(STORAGE_DOUBT)
KNOWN_OF_FILE = ("first_seen_at", "unreferenced_since", "last_referred_at", "last_referrer", "vanished_referrer")
"""Columns of ``storage_file`` that the next audit starts from."""
KNOWN_FILES = spark_schema(pa.schema([arrow_schema(STORAGE_FILE).field(name) for name in (*STORAGE_FILE.key, *KNOWN_OF_FILE)]))
REFERRED = spark_schema(pa.schema([arrow_schema(STORAGE_REFERENCE).field(name) for name in STORAGE_REFERENCE.key]))


@dataclass(frozen=True)
class Inputs:
    """Paths are canonical.

    ``jobs.restored_path`` is the directory restored from, ``jobs.written_directory`` the job
    directory that the job is known to write. ``references`` has a row with ordinal 0 for each ``_metadata``
    that was read to its end; rows of others are ignored. ``operators`` are those with notable operator state
    (:mod:`spark_jobs.storage.operator_states`). ``vanished`` are listed ``_metadata`` that were gone when read.
    ``known_files`` and ``referred`` are what the audit before left: files, and who referred to them.
    """

    roots: DataFrame
    listing: DataFrame
    jobs: DataFrame
    references: DataFrame
    operators: DataFrame
    doubts: DataFrame
    vanished: DataFrame
    known_files: DataFrame
    referred: DataFrame
