"""Inputs of an audit: ``_metadata`` to read, snapshots that were read, failures, and jobs."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.uris import Spellings
from spark_jobs.arrow_schemas import fields_of, schema
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.storage import arrays, parsing
from spark_jobs.storage.layout_columns import METADATA_SUFFIX, directories_of, with_places
from spark_jobs.storage.parsing import FOREIGN, WANTED
from spark_jobs.storage.plain import Key, Row, RowList, Rows, by, is_less, largest, plain_rows

JOBS = schema(*schema(audit_id="text"), *fields_of(JOB_SCHEMA))
_WRITTEN = re.compile(r"([\s\S]+/([0-9a-f]{32}))/chk-[0-9]+/?")
VANISHED = "vanished_metadata"


def wanted(metadata: pa.Table) -> pa.Table:
    modified = metadata.column("modified").cast(pa.timestamp("ms", "UTC"), safe=False)
    files = arrays.with_column(metadata, "modified", modified).rename_columns(
        {"listed_path": "read_path"}
    )
    return files.select(WANTED.names).cast(WANTED)


def first_vanished(failed: Rows, files: pa.Table) -> pa.Table:
    """One vanished file of each job directory: successors are the same."""
    vanished = {
        (row["audit_id"], row["metadata_path"]) for row in failed if row["failure"] == VANISHED
    }
    rows = [
        row
        for row in with_places(files).to_pylist()
        if (row["audit_id"], row["path"]) in vanished and row["place"] == "metadata"
    ]
    first = [
        min(group, key=lambda row: str(row["path"]))
        for group in by(rows, "audit_id", "root", "job_directory").values()
    ]
    return pa.Table.from_pylist(first, WANTED)


def without_known(files: pa.Table, known_files: pa.Table) -> pa.Table:
    return files.filter(pa.array(~arrays.are_in(files, known_files, "audit_id", "path")))


def placed_snapshots(snapshots: pa.Table) -> list[Row]:
    """The checkpoints that were read, by audit and path. Their index is their number in the audit.
    ``number``: the id in the directory's name, ``checkpoint_id``: in the file.
    """
    renamed = snapshots.rename_columns({"checkpoint_id": "written_id"})
    placed = with_places(renamed, "metadata_path").rename_columns(
        {"checkpoint_id": "number", "written_id": "checkpoint_id"}
    )
    directory = directories_of(placed.column("metadata_path"))
    is_savepoint = pc.equal(placed.column("place"), "savepoint")
    rows = plain_rows(
        placed.append_column("directory", directory).append_column("is_savepoint", is_savepoint)
    )
    return sorted(rows, key=lambda row: (row["audit_id"], row["metadata_path"]))


class Missed(NamedTuple):
    """``failed``: _metadata not read to the end. ``foreign``: provably not of Flink."""

    doubts: list[Row]
    failed: list[Row]
    foreign: set[Key]
    vanished: set[Key]
    """(audit_id, metadata_path) of files that were listed, but gone when they were read."""
    of_root: Counter[Key]
    """(audit_id, root) → number of vanished files."""


def missed(failed: pa.Table, bad_paths: Rows, snapshots: RowList) -> Missed:
    """A vanished checkpoint is no doubt if a later checkpoint of its job was read."""
    read = by((row for row in snapshots if row["place"] == "metadata"), "audit_id", "job_directory")
    newest = {key: largest(row["number"] for row in rows) for key, rows in read.items()}
    doubts: list[Row] = []
    rows = plain_rows(with_places(failed, "metadata_path"))
    foreign = {(row["audit_id"], row["metadata_path"]) for row in rows if row["failure"] == FOREIGN}
    vanished: set[Key] = set()
    of_root: Counter[Key] = Counter()
    for row in rows:
        if row["failure"] == FOREIGN:
            continue
        if row["failure"] == VANISHED:
            vanished.add((row["audit_id"], row["metadata_path"]))
            of_root[row["audit_id"], row["root"]] += 1
            if is_less(row["checkpoint_id"], newest.get((row["audit_id"], row["job_directory"]))):
                continue
        doubts.append(_doubt(row, row["failure"], row["failure_detail"]))
    doubts += [
        _doubt(row, "bad_path", f"It refers to {row['written_path'][:200]}, which is no URI.")
        for row in bad_paths
    ]
    return Missed(doubts, rows, foreign, vanished, of_root)


def _doubt(row: Row, reason: str, detail: str) -> Row:
    return row | {"subject": row["metadata_path"], "reason": reason, "detail": detail}


def job_rows(jobs: pa.Table, spellings_of: Mapping[str, Spellings]) -> list[Row]:
    """Jobs with ``restored_path`` and ``last_completed_path`` as canonical directories (Flink
    accepts a _metadata too). ``written_directory``: the job directory of the last checkpoint.
    """
    rows = plain_rows(jobs)
    for name in ("restored_path", "last_completed_path"):
        paths = parsing.canonical_paths(jobs, name, spellings_of).to_pylist()
        for row, path in zip(rows, paths, strict=True):
            row[name] = path and path.removesuffix(METADATA_SUFFIX)
    for row in rows:
        match = _WRITTEN.fullmatch(row["last_completed_path"] or "")
        row["written_directory"] = match[1] if match and match[2] == row["job_id"] else None
    return rows
