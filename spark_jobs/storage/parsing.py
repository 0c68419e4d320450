"""Reads _metadata. Executors import this module: no PySpark here."""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.errors import words_of
from ingest.messages import Message, message_document
from ingest.metadata import references
from ingest.metadata.dialects import DamagedMetadata, IncompleteMetadata, MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.unread import Content, content_of
from ingest.storage.directories import Kind, directories
from ingest.storage.layout import METADATA_NAME
from ingest.storage.roots import local_path
from ingest.uris import PLAIN, Spellings, canonical_column
from spark_jobs.arrow_schemas import Batches, fields_of, schema
from spark_jobs.storage import arrays

WANTED = schema(
    audit_id="text", root="text", path="text", read_path="text", bytes="int", modified="instant"
)
"""``_metadata`` files to read. ``path`` is canonical; Weir reads the file at ``read_path``."""

PARSED = schema(
    *schema(audit_id="text", root="text"),
    *fields_of(references.SCHEMA),
    failure="text",
    failure_detail="text",
    head_sha256="text",
    named_jobs=pa.list_(pa.string()),
)
"""Rows of the lake table ``references``. If a file could not be read to its end, its last row has a
``failure``, and no row has ordinal 0. ``head_sha256`` and ``named_jobs``: from
``ingest.metadata.unread``; null if the file could not be read.
"""

_MOST_DETAIL = 500
FOREIGN = "foreign_metadata"
"""Failure of a file that is provably no ``_metadata`` of Flink: it refers to no file of Flink."""


def parsed(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            modified, within = row["modified"], _read_root(row)
            if modified and not modified.tzinfo:
                modified = modified.replace(tzinfo=UTC)
            file = MetadataFile(row["path"], row["bytes"], modified, row["read_path"], within)
            yield from _parse(file, row)


def _parse(file: MetadataFile, row: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    try:
        for batch in references.reference_batches(file):
            yield from _parsed_rows(batch, row)
    except MetadataError as error:
        yield _unread(file, row, error)
    except FileNotFoundError:
        detail = "It was listed, and gone when it was to be read."
        yield _failure_batch(file, row, "vanished_metadata", detail)
    except Exception as error:  # whatever a file system raises, the other files are still read
        detail = f"It cannot be read ({words_of(error)}); check that Spark's workers may do so."
        yield _failure_batch(file, row, "unreadable_file", detail)


def _unread(file: MetadataFile, row: Mapping[str, Any], error: MetadataError) -> pa.RecordBatch:
    try:
        content = content_of(file)
    except (OSError, ValueError):
        return _failure_batch(file, row, _reason(error), str(error))
    if content.bytes == 0:
        reason = "empty_metadata"
    elif content.has_magic:
        reason = _reason(error)
    else:
        reason = FOREIGN if content.is_foreign else "no_magic_number"
    return _failure_batch(file, row, reason, str(error), content)


def _reason(error: MetadataError) -> str:
    if isinstance(error, IncompleteMetadata):
        return "incomplete_metadata"
    return "damaged_metadata" if isinstance(error, DamagedMetadata) else "unsupported_metadata"


def _parsed_rows(batch: pa.RecordBatch, row: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in ("audit_id", "root"):
        columns[name] = pa.repeat(row[name], batch.num_rows)
    yield from arrays.table(columns, PARSED).to_batches()


def _failure_batch(
    file: MetadataFile,
    row: Mapping[str, Any],
    reason: str,
    detail: str,
    content: Content | None = None,
) -> pa.RecordBatch:
    failure = {
        "audit_id": row["audit_id"],
        "root": row["root"],
        **references.key_of(file),
        "failure": reason,
        "failure_detail": message_document(
            detail if isinstance(detail, Message) else detail[:_MOST_DETAIL]
        ),
        "head_sha256": content and content.head_sha256,
        "named_jobs": content and content.named_jobs,
    }
    return pa.RecordBatch.from_pylist([failure], schema=PARSED)


def successors(batches: Batches) -> Iterator[pa.RecordBatch]:
    """``WANTED`` of the present ``_metadata`` in ``chk-*`` of jobs whose ``_metadata`` vanished. If
    a job's directory cannot be listed, it has none, and the file stays a doubt.
    """
    for batch in batches:
        files = [file for row in batch.to_pylist() for file in _find_siblings(row)]
        yield pa.RecordBatch.from_pylist(files, schema=WANTED)


def _find_siblings(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    directory = row["path"].rsplit("/", 2)[0]
    read_directory = row["read_path"].rsplit("/", 2)[0]
    read_root = _read_root(row)
    try:
        listable = directories(local_path(read_root))
        below = read_directory.removeprefix(read_root)
        names = [entry.name for entry in listable.entries(below) if entry.kind is Kind.DIRECTORY]
        for name in sorted(name for name in names if name.startswith("chk-")):
            files = listable.entries(f"{below}/{name}")
            if any(file.name == METADATA_NAME and file.kind is Kind.FILE for file in files):
                yield {
                    "audit_id": row["audit_id"],
                    "root": row["root"],
                    "bytes": None,
                    "modified": None,
                    "path": f"{directory}/{name}/{METADATA_NAME}",
                    "read_path": f"{read_directory}/{name}/{METADATA_NAME}",
                }
    except (OSError, ValueError):
        return


def _read_root(row: Mapping[str, Any]) -> str:
    """Where the root is read: ``read_path`` without the part below the root."""
    steps = row["path"].removeprefix(row["root"].rstrip("/")).count("/")
    return str(row["read_path"]).rsplit("/", steps)[0] or "/"


def canonical_paths(rows: pa.Table, column: str, spellings_of: Mapping[str, Spellings]) -> pa.Array:
    paths = arrays.column(rows, column).cast(pa.string())
    canonical = canonical_column(paths, PLAIN)
    for audit_id, spellings in spellings_of.items():
        is_of_audit = pc.equal(arrays.column(rows, "audit_id"), audit_id)
        if pc.any(is_of_audit).as_py():
            respelled = canonical_column(paths.filter(is_of_audit), spellings)
            canonical = pc.replace_with_mask(canonical, is_of_audit, respelled)
    return canonical
