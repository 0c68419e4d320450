"""State that audits leave for the next: files, references, jobs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.uris import Spellings, canonical_column
from spark_jobs.arrow_schemas import INSTANT, arrow_schema, fields_of, schema
from spark_jobs.audit_tables import RESTORES as RESTORES_NAME
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import UNKNOWN, Flags, Numbers, Tables, column, known, numbers_of
from spark_jobs.storage.layout_columns import are_below
from spark_jobs.storage.plain import (
    US_PER_H,
    US_PER_S,
    Key,
    Row,
    Rows,
    by,
    is_below,
    key_of,
    largest,
)

KNOWN_OF_FILE = (
    "first_seen_at",
    "unreferenced_since",
    "last_referred_at",
    "last_referrer",
    "vanished_referrer",
    "unlisted_at",
    "listed_since",
)
KNOWN_FILES = fields_of(
    arrow_schema(STORAGE_FILE), "root", "path", "bytes", "modified", *KNOWN_OF_FILE
)
"""What the next audit reads of ``storage_file``, ``storage_live`` and ``storage_absent``."""
REFERRED = schema(metadata_path="text", path="text")
"""What the next audit reads of ``storage_reference`` and ``storage_pending``."""


LISTED = schema(root="text", as_of="instant")
"""``storage_listed``: for each root, the newest audit that listed it whole."""
JOB_DIRECTORIES = schema(job_directory="text")
"""``storage_shared``: directories that several clusters wrote, or may have written. When only one
of these jobs is remembered, all files would seem to be its own.

``storage_lost``: directories with files that were not listed when a checkpoint that referred to
them had vanished and was not seen discarded. Nothing is remembered of these files.
"""
REMEMBERED = schema(
    job_directory="text",
    began_at="instant",
    went_on_at="instant",
    checkpoint_id="int",
    modified="instant",
)
"""``storage_remembered``: for each job directory, when the newest run began that continued from it
(``went_on_at``), when the newest other run began (``began_at``), and the newest read checkpoint.
"""
RESTORES = schema(
    cluster="text",
    job_id="text",
    restored_path="text",
    restored_at="instant",
    settled="flag",
    needs="flag",
    written_directory="text",
    known_at="instant",
)
"""``storage_restores``: restores whose snapshot may be needed again. ``settled`` is false while the
job runs without a whole checkpoint of its own; true if it has ended, or has such a checkpoint and
may lose it. ``needs``: the job has no whole checkpoint of its own and would be restored from that
snapshot again. ``known_at``: the newest audit that had a row of the job.
"""
STATES: Mapping[str, tuple[pa.Schema, Sequence[str]]] = {
    "storage_listed": (LISTED, ("root",)),
    "storage_lost": (JOB_DIRECTORIES, ("job_directory",)),
    "storage_shared": (JOB_DIRECTORIES, ("job_directory",)),
    "storage_remembered": (REMEMBERED, ("job_directory",)),
    RESTORES_NAME: (RESTORES, ("restored_path", "written_directory")),
}
"""State as plain rows: the schema, and the columns with paths."""
FORGOTTEN_AFTER_D = 400
"""A settled restore of an unreported job is kept for longer than files wait to be purged
(``WEIR_QUARANTINE_H``: at most a year).
"""
APPEARS_WITHIN_H = 24
"""A file may be listed this long after its modification time: object stores report the time at
which an upload began.
"""

US_PER_MIN = 60 * US_PER_S
BEFORE = {"known": KNOWN_FILES, "earlier": REFERRED}


def merge_inventories(
    parts: Tables, _: Tables, spellings_of: Sequence[Spellings]
) -> dict[str, pa.Table]:
    """``BEFORE`` of several audits merged into one, with current spelling. For each column the
    value counts that keeps a file longer, except ``first_seen_at``: an earlier inventory proves
    that the same file existed.
    """
    for spellings in spellings_of:
        parts = {name: _respell(rows, spellings) for name, rows in parts.items()}
    files = parts["known"]
    names = [name for name in KNOWN_FILES.names if name != "path"]
    grouped = files.group_by("path").aggregate(
        [
            *((name, "max") for name in names),
            *((name, "min") for name in _SAME_IN_ONE_FILE),
            *((name, "count") for name in _SAME_IN_ONE_FILE),
            ([], "count_all"),
        ]
    )
    longest = grouped.rename_columns({f"{name}_max": name for name in names}).select(
        KNOWN_FILES.names
    )
    first_seen = pc.if_else(
        pa.array(_is_one_file(grouped)),
        column(grouped, "first_seen_at_min"),
        column(longest, "first_seen_at"),
    )
    return {
        "known": arrays.with_column(longest, "first_seen_at", first_seen),
        "earlier": arrays.distinct(parts["earlier"], REFERRED.names),
    }


_SAME_IN_ONE_FILE = ("bytes", "modified", "first_seen_at")


def _is_one_file(grouped: pa.Table) -> Flags:
    """Whether all listings of a path show the same file: one size and time (HDFS may list only
    minutes), in every complete listing (``unlisted_at``) since it was first seen. A file put back
    with its old time counts as new.
    """
    listings = numbers_of(grouped, "count_all")
    is_known: Flags = np.ones(grouped.num_rows, np.bool_)
    for name in _SAME_IN_ONE_FILE:
        is_known &= numbers_of(grouped, f"{name}_count") == listings
    earliest, latest = (numbers_of(grouped, f"modified_{end}") for end in ("min", "max"))
    is_same_minute = (earliest % US_PER_MIN == 0) & (latest - earliest < US_PER_MIN)
    is_same = (earliest == latest) | is_same_minute
    is_same &= numbers_of(grouped, "bytes_min") == numbers_of(grouped, "bytes_max")
    was_always_listed = arrays.flags(pc.is_null(column(grouped, "unlisted_at_max")))
    was_there = _must_be_listed(latest, numbers_of(grouped, "first_seen_at_min"))
    is_one: Flags = is_known & is_same & was_always_listed & was_there
    return is_one


def _respell(rows: pa.Table, spellings: Spellings) -> pa.Table:
    for name in {"root", "path", "metadata_path"}.intersection(rows.column_names):
        named = canonical_column(column(rows, name).cast(pa.string()), spellings)
        rows = arrays.with_column(rows, name, named)
    return rows


class Split(NamedTuple):
    """Earlier rows. ``audited``: below this audit's roots, with ``audit_id`` and, for files,
    ``root``. ``others`` stay for the next audit.
    """

    audited: pa.Table
    others: pa.Table


def files_of_roots(files: pa.Table, roots: Mapping[str, list[str]]) -> Split:
    """Files below the audited ``roots``, also if of another root before."""
    parts, is_audited = [], np.zeros(files.num_rows, np.bool_)
    for audit_id, root in _audited(roots):
        is_inside = arrays.flags(are_below(column(files, "path"), root))
        if is_inside.any():
            rows = files.filter(pa.array(is_inside))
            rows = arrays.with_column(rows, "root", pa.repeat(root, rows.num_rows))
            parts.append(with_audit(rows, audit_id))
            is_audited |= is_inside
    return Split(_all(parts, KNOWN_FILES), files.filter(pa.array(~is_audited)))


def references_of_roots(referred: pa.Table, roots: Mapping[str, list[str]]) -> Split:
    """References whose _metadata or file is below an audited root. Whether a
    _metadata is gone is only seen by an audit of its root.
    """
    parts, is_audited = [], np.zeros(referred.num_rows, np.bool_)
    for name in ("metadata_path", "path"):
        is_left = ~is_audited
        for audit_id, root in _audited(roots):
            is_taken = arrays.flags(are_below(column(referred, name), root)) & is_left
            if is_taken.any():
                parts.append(with_audit(referred.filter(pa.array(is_taken)), audit_id))
                is_audited |= is_taken
    return Split(_all(parts, REFERRED), referred.filter(pa.array(~is_audited)))


def _audited(roots: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((audit_id, root) for audit_id, uris in roots.items() for root in uris)


def _all(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(
        [schema.append(pa.field("audit_id", pa.string())).empty_table(), *parts]
    )


def merged(files: pa.Table) -> pa.Table:
    """One row for each file; the values that keep it longer count."""
    grouped = files.group_by(["audit_id", "path"]).aggregate(
        [(name, "max") for name in KNOWN_OF_FILE]
    )
    return grouped.rename_columns({f"{name}_max": name for name in KNOWN_OF_FILE})


def needed_elsewhere(files: pa.Table, referred: pa.Table, audits: Iterable[str]) -> pa.Table:
    """(audit_id, path) of other roots' files, kept or needed: a root may get another name."""
    kept = pc.or_(
        pc.is_valid(files.column("vanished_referrer")), pc.is_valid(files.column("unlisted_at"))
    )
    rows = pa.concat_tables([files.filter(kept).select(["path"]), referred.select(["path"])])
    paths = arrays.distinct(rows, ["path"])
    return pa.concat_tables(with_audit(paths, audit_id) for audit_id in audits).select(
        ["audit_id", "path"]
    )


def with_audit(rows: pa.Table, audit_id: str) -> pa.Table:
    return rows.append_column("audit_id", pa.repeat(audit_id, rows.num_rows))


def absent_files(files: pa.Table, is_listed: Flags, roots: pa.Table) -> pa.Table:
    """Files of earlier audits that are not listed now and must not look new, or never referred to,
    when listed again: below roots that were not listed whole, with a vanished referrer, or too
    recent for ``unlisted_at``.
    """
    at = arrays.require_places(
        arrays.texts(files, "audit_id", "root"), arrays.texts(roots, "audit_id", "root")
    )
    as_of = numbers_of(roots, "as_of")[at]
    is_whole = numbers_of(roots, "unlisted")[at] == 0
    modified, unlisted_at = numbers_of(files, "modified"), numbers_of(files, "unlisted_at")
    has_vanished_referrer = arrays.flags(pc.is_valid(column(files, "vanished_referrer")))
    is_recent = known(modified) & ~_must_be_listed(modified, as_of)
    is_kept = ~is_listed & (~is_whole | has_vanished_referrer | is_recent)
    absent_since = np.where(known(unlisted_at) | ~is_whole, unlisted_at, as_of)
    unknown = np.full(files.num_rows, UNKNOWN)
    for name, instants in (("unlisted_at", absent_since), ("listed_since", unknown)):
        files = arrays.with_column(files, name, arrays.optional(instants, INSTANT))
    return files.filter(pa.array(is_kept)).select(KNOWN_FILES.names)


def unlisted_at(listing: pa.Table, root_no: Numbers, roots: pa.Table, listed: pa.Table) -> Numbers:
    """For listed files that no earlier audit knew: the newest audit that listed their root whole
    without them although they are older; else unknown. Checkpoints that referred to them then may
    be gone now.
    """
    newest = np.full(listing.num_rows, UNKNOWN)
    paths, audited = column(listing, "path"), column(roots, "root").to_pylist()
    for root, as_of in zip(
        column(listed, "root").to_pylist(), numbers_of(listed, "as_of"), strict=True
    ):
        is_all_inside = np.array(
            [other_root == root or is_below(other_root, root) for other_root in audited], np.bool_
        )
        is_around = np.array([is_below(root, other_root) for other_root in audited], np.bool_)
        was_covered = is_all_inside[root_no]
        partly = np.flatnonzero(is_around[root_no])
        was_covered[partly] = arrays.flags(are_below(paths.take(pa.array(partly)), root))
        newest[was_covered] = np.maximum(newest[was_covered], as_of)
    modified = numbers_of(listing, "modified")
    return np.where(
        known(newest) & known(modified) & _must_be_listed(modified, newest), newest, UNKNOWN
    )


def listed_since(since: Numbers, unlisted_at: Numbers, as_of: Numbers) -> Numbers:
    """For files with ``unlisted_at``: since which audit all have listed them."""
    return np.where(
        known(unlisted_at), np.where(arrays.is_later(since, unlisted_at), since, as_of), UNKNOWN
    )


def _must_be_listed(modified: Numbers, as_of: Numbers) -> Flags:
    """Whether a complete listing of that time must have a file so old."""
    must_be_listed: Flags = modified <= as_of - APPEARS_WITHIN_H * US_PER_H
    return must_be_listed


def remembered(before: Rows, owners: Rows, snapshots: Rows) -> list[Row]:
    nothing = dict.fromkeys(REMEMBERED.names)
    beginnings = (
        nothing | {name: owner[name] for name in ("job_directory", "began_at", "went_on_at")}
        for owner in owners
    )
    read = (
        nothing | {name: row[name] for name in ("job_directory", "checkpoint_id", "modified")}
        for row in snapshots
        if row["place"] == "metadata" and row["modified"] is not None
    )
    remembered_rows = []
    by_directory = by([*before, *beginnings, *read], "job_directory")
    for (directory,), rows in sorted(by_directory.items()):
        newest = max(rows, key=lambda row: (row["modified"] or 0, row["checkpoint_id"] or 0))
        began = {name: largest(row[name] for row in rows) for name in ("began_at", "went_on_at")}
        remembered_rows.append(newest | {"job_directory": directory} | began)
    return remembered_rows


def restores(outcomes: Rows, settled: Rows, as_of: int) -> list[Row]:
    """``RESTORES``, each once. ``settled``: in earlier audits. Both are from ``with_outcomes``."""
    rows: dict[Key, Row] = {}
    oldest = as_of - FORGOTTEN_AFTER_D * 24 * US_PER_H
    for was_settled, jobs in ((False, outcomes), (True, settled)):
        for job in jobs:
            is_over = was_settled or job["ended"]
            is_whole = job["is_independent"] or (is_over and job["has_whole"])
            known_at = (job.get("forgotten") and job["known_at"]) or as_of
            row = {name: job[name] for name in RESTORES.names if name in job} | {
                "settled": is_over or job["is_independent"],
                "needs": not is_whole and not (job["ended"] and job["left_nothing"]),
                "known_at": known_at,
            }
            key = key_of(
                row, ("cluster", "job_id", "restored_path", "restored_at", "settled", "needs")
            )
            may_lose = job["has_whole"] or not job["terminal"]
            is_over_for_good = row["settled"] and not (row["needs"] or may_lose)
            is_forgotten = was_settled and known_at < oldest
            if not is_over_for_good and not is_forgotten:
                rows[key] = max(
                    row, rows.get(key, row), key=lambda candidate: candidate["known_at"]
                )
    return list(rows.values())


def roots_listed(listed: Rows, roots: Rows) -> list[Row]:
    listed_now = [(root["root"], root["as_of"]) for root in roots if root["unlisted"] == 0]
    newest: dict[str, int] = {}
    for root, as_of in [*((row["root"], row["as_of"]) for row in listed), *listed_now]:
        newest[root] = max(newest.get(root, as_of), as_of)
    return [{"root": root, "as_of": as_of} for root, as_of in sorted(newest.items())]
