"""What the previous audits left of files and references, for the roots of this audit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.uris import Spellings, canonical_column
from spark_jobs.arrow_schemas import INSTANT, arrow_schema, schema
from spark_jobs.audit_tables import RESTORES as RESTORES_NAME
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import UNKNOWN, Flags, Numbers, Tables, column, known, numbers_of
from spark_jobs.storage.layout_columns import are_below
from spark_jobs.storage.plain import US_PER_H, US_PER_S, Key, Row, by, is_below, key_of, largest

KNOWN_OF_FILE = (
    "first_seen_at",
    "unreferenced_since",
    "last_referred_at",
    "last_referrer",
    "vanished_referrer",
    "unlisted_at",
    "listed_since",
)
KNOWN_FILES = pa.schema(
    [
        arrow_schema(STORAGE_FILE).field(name)
        for name in ("root", "path", "bytes", "modified", *KNOWN_OF_FILE)
    ]
)
"""``storage_file``, ``storage_live`` and ``storage_absent``, as the next audit reads them."""
REFERRED = schema(metadata_path="text", path="text")
"""``storage_reference`` and ``storage_pending``, as the next audit reads them."""


LISTED = schema(root="text", as_of="instant")
"""``storage_listed``: the newest audit that listed a root whole, of each root ever audited."""
JOB_DIRECTORIES = schema(job_directory="text")
"""``storage_shared``: directories that more than one cluster ever wrote, or may have written: once
the jobs of the others are forgotten, their files would look as if they were of the one that is
left.

``storage_lost``: directories where files were not listed when a checkpoint that referred to them
was gone without having been seen discarded: of these files nothing is remembered.
"""
REMEMBERED = schema(
    job_directory="text",
    began_at="instant",
    went_on_at="instant",
    checkpoint_id="int",
    modified="instant",
)
"""``storage_remembered``: of job directories, when the newest runs began that went on from there
(``went_on_at``) or did not (``began_at``), and the newest checkpoint that was read.
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
"""``storage_restores``: of jobs that had neither ended nor completed a checkpoint of their own
since. ``settled``: of jobs that have one and may lose it, or lost it. ``needs``: the job has no
whole checkpoint of its own, and would have to be restored from there again. ``known_at``: the
newest audit that knew a row of the job.
"""
STATES: Mapping[str, tuple[pa.Schema, Sequence[str]]] = {
    "storage_listed": (LISTED, ("root",)),
    "storage_lost": (JOB_DIRECTORIES, ("job_directory",)),
    "storage_shared": (JOB_DIRECTORIES, ("job_directory",)),
    "storage_remembered": (REMEMBERED, ("job_directory",)),
    RESTORES_NAME: (RESTORES, ("restored_path", "written_directory")),
}
"""Plain rows that the next audit starts from: their schema, and the columns that name places."""
FORGOTTEN_AFTER_D = 400
"""How long a settled restore of a job that nobody reports counts: longer than files wait to be
purged (``WEIR_QUARANTINE_H``: at most a year).
"""
APPEARS_WITHIN_H = 24
"""How long after its modification time a file may appear: object stores give the time at which an
upload began.
"""

US_PER_MIN = 60 * US_PER_S
BEFORE = {"known": KNOWN_FILES, "earlier": REFERRED}


def merge_inventories(
    parts: Tables, known: Tables, spellings_of: Sequence[Spellings]
) -> dict[str, pa.Table]:
    """``BEFORE`` of several audits merged into one, with current names of places. The value that
    keeps a file longer counts, except ``first_seen_at``: an inventory of the past proves that the
    file was there, if it is the same file.
    """
    for spellings in spellings_of:
        parts = {name: _respell(rows, spellings) for name, rows in parts.items()}
    files = parts["known"]
    others = [name for name in KNOWN_FILES.names if name != "path"]
    both = files.group_by("path").aggregate(
        [
            *((name, "max") for name in others),
            *((name, "min") for name in _IS_ONE_BY),
            *((name, "count") for name in _IS_ONE_BY),
            ([], "count_all"),
        ]
    )
    longest = both.rename_columns({f"{name}_max": name for name in others}).select(
        KNOWN_FILES.names
    )
    first_seen = pc.if_else(
        pa.array(_is_one(both)),
        column(both, "first_seen_at_min"),
        column(longest, "first_seen_at"),
    )
    at = longest.schema.get_field_index("first_seen_at")
    return {
        "known": longest.set_column(at, "first_seen_at", first_seen),
        "earlier": arrays.distinct(parts["earlier"], REFERRED.names),
    }


_IS_ONE_BY = ("bytes", "modified", "first_seen_at")


def _is_one(both: pa.Table) -> Flags:
    """Whether all listings of a path show one file: with one size and one time (HDFS lists minutes
    only), present since it was first seen, and lacking in no complete listing
    (:func:`unlisted_at`). A file that was put back with its old time counts as new.
    """
    everywhere = numbers_of(both, "count_all")
    is_everywhere: Flags = np.ones(both.num_rows, np.bool_)
    for name in _IS_ONE_BY:
        is_everywhere &= numbers_of(both, f"{name}_count") == everywhere
    earliest, latest = (numbers_of(both, f"modified_{end}") for end in ("min", "max"))
    in_minutes = (earliest % US_PER_MIN == 0) & (latest - earliest < US_PER_MIN)
    is_same = (earliest == latest) | in_minutes
    is_same &= numbers_of(both, "bytes_min") == numbers_of(both, "bytes_max")
    never_absent = arrays.flags(pc.is_null(column(both, "unlisted_at_max")))
    was_there = _must_be_listed(latest, numbers_of(both, "first_seen_at_min"))
    found: Flags = is_everywhere & is_same & never_absent & was_there
    return found


def _respell(rows: pa.Table, spellings: Spellings) -> pa.Table:
    for name in {"root", "path", "metadata_path"}.intersection(rows.column_names):
        named = canonical_column(column(rows, name).cast(pa.string()), spellings)
        rows = rows.set_column(rows.schema.get_field_index(name), name, named)
    return rows


class Carried(NamedTuple):
    """``mine`` have ``audit_id`` and, for files, the audited ``root``; ``others`` stay unchanged
    for the next audit.
    """

    mine: pa.Table
    others: pa.Table


def files_of_roots(files: pa.Table, roots: Mapping[str, list[str]]) -> Carried:
    """Files below the audited ``roots`` (by audit), under whichever root they were found before."""
    parts, is_mine = [], np.zeros(files.num_rows, np.bool_)
    for audit_id, root in _audited(roots):
        is_inside = arrays.flags(are_below(column(files, "path"), root))
        if is_inside.any():
            rows = files.filter(pa.array(is_inside))
            at = rows.schema.get_field_index("root")
            named = rows.set_column(at, "root", pa.repeat(root, rows.num_rows))
            parts.append(with_audit(named, audit_id))
            is_mine |= is_inside
    return Carried(_all(parts, KNOWN_FILES), files.filter(pa.array(~is_mine)))


def references_of_roots(referred: pa.Table, roots: Mapping[str, list[str]]) -> Carried:
    """Only below audited roots can a ``_metadata`` be known to be gone. One elsewhere keeps its
    references to files below the audited roots.
    """
    parts, is_mine = [], np.zeros(referred.num_rows, np.bool_)
    for name in ("metadata_path", "path"):
        is_left = ~is_mine
        for audit_id, root in _audited(roots):
            is_taken = arrays.flags(are_below(column(referred, name), root)) & is_left
            if is_taken.any():
                parts.append(with_audit(referred.filter(pa.array(is_taken)), audit_id))
                is_mine |= is_taken
    return Carried(_all(parts, REFERRED), referred.filter(pa.array(~is_mine)))


def _audited(roots: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((audit_id, root) for audit_id, of in roots.items() for root in of)


def _all(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(
        [schema.append(pa.field("audit_id", pa.string())).empty_table(), *parts]
    )


def merged(files: pa.Table) -> pa.Table:
    """One row for each file; the values that keep it longer count."""
    files_merged = files.group_by(["audit_id", "path"]).aggregate(
        [(name, "max") for name in KNOWN_OF_FILE]
    )
    return files_merged.rename_columns({f"{name}_max": name for name in KNOWN_OF_FILE})


def marked_elsewhere(files: pa.Table, referred: pa.Table, audits: Iterable[str]) -> pa.Table:
    """(audit_id, path) of kept or perhaps needed files below no audited root: a root may have got
    another name.
    """
    kept = pc.or_(
        pc.is_valid(files.column("vanished_referrer")), pc.is_valid(files.column("unlisted_at"))
    )
    both = pa.concat_tables([files.filter(kept).select(["path"]), referred.select(["path"])])
    paths = arrays.distinct(both, ["path"])
    return pa.concat_tables(with_audit(paths, audit_id) for audit_id in audits).select(
        ["audit_id", "path"]
    )


def with_audit(rows: pa.Table, audit_id: str) -> pa.Table:
    return rows.append_column("audit_id", pa.repeat(audit_id, rows.num_rows))


def absent_files(files: pa.Table, is_listed: Flags, roots: pa.Table) -> pa.Table:
    """Files of earlier audits that are not listed now: all below roots that were not listed whole,
    those whose referrer vanished, and those not old enough for :func:`unlisted_at`. When they are
    listed again, they must not look new, or never referred to.
    """
    at = arrays.require_places(
        arrays.joined(files, "audit_id", "root"), arrays.joined(roots, "audit_id", "root")
    )
    as_of = numbers_of(roots, "as_of")[at]
    is_whole = numbers_of(roots, "unlisted")[at] == 0
    modified, before = numbers_of(files, "modified"), numbers_of(files, "unlisted_at")
    has_vanished_referrer = arrays.flags(pc.is_valid(column(files, "vanished_referrer")))
    is_recent = known(modified) & ~_must_be_listed(modified, as_of)
    absent_since = np.where(known(before) | ~is_whole, before, as_of)
    not_since = np.full(files.num_rows, UNKNOWN)
    named = files
    for name, instants in (("unlisted_at", absent_since), ("listed_since", not_since)):
        named = named.set_column(
            files.schema.get_field_index(name), name, arrays.optional(instants, INSTANT)
        )
    return named.filter(
        pa.array(~is_listed & (~is_whole | has_vanished_referrer | is_recent))
    ).select(KNOWN_FILES.names)


def unlisted_at(listing: pa.Table, root_no: Numbers, roots: pa.Table, listed: pa.Table) -> Numbers:
    """For listed files that no audit knows: the newest audit that listed their root completely
    without them although they are older; else unknown. Their referrers of that time may be gone by
    now.
    """
    newest = np.full(listing.num_rows, UNKNOWN)
    paths, audited = column(listing, "path"), column(roots, "root").to_pylist()
    for root, as_of in zip(
        column(listed, "root").to_pylist(), numbers_of(listed, "as_of"), strict=True
    ):
        whole = np.array(
            [other_root == root or is_below(other_root, root) for other_root in audited], np.bool_
        )
        inside = np.array([is_below(root, other_root) for other_root in audited], np.bool_)
        since = whole[root_no]
        partly = np.flatnonzero(inside[root_no])
        since[partly] = arrays.flags(are_below(paths.take(pa.array(partly)), root))
        newest[since] = np.maximum(newest[since], as_of)
    modified = numbers_of(listing, "modified")
    return np.where(
        known(newest) & known(modified) & _must_be_listed(modified, newest), newest, UNKNOWN
    )


def listed_since(since: Numbers, unlisted_at: Numbers, as_of: Numbers) -> Numbers:
    """For listed files that an audit lacked: the first audit since which all listed them."""
    return np.where(
        known(unlisted_at), np.where(arrays.later(since, unlisted_at), since, as_of), UNKNOWN
    )


def _must_be_listed(modified: Numbers, as_of: Numbers) -> Flags:
    """Whether a complete listing at that time must have every file of this modification time."""
    must_be_listed: Flags = modified <= as_of - APPEARS_WITHIN_H * US_PER_H
    return must_be_listed


def remembered(before: Iterable[Row], owners: Iterable[Row], snapshots: Iterable[Row]) -> list[Row]:
    """``REMEMBERED`` after an audit, one row for each directory."""
    nothing = dict.fromkeys(REMEMBERED.names)
    of_owners = (
        nothing | {name: owner[name] for name in ("job_directory", "began_at", "went_on_at")}
        for owner in owners
    )
    read = (
        nothing | {name: row[name] for name in ("job_directory", "checkpoint_id", "modified")}
        for row in snapshots
        if row["place"] == "metadata" and row["modified"] is not None
    )
    rows = []
    for (directory,), of in sorted(by([*before, *of_owners, *read], "job_directory").items()):
        newest = max(of, key=lambda row: (row["modified"] or 0, row["checkpoint_id"] or 0))
        began = {name: largest(row[name] for row in of) for name in ("began_at", "went_on_at")}
        rows.append(newest | {"job_directory": directory} | began)
    return rows


def restores(weaned: Iterable[Row], settled: Iterable[Row], as_of: int) -> list[Row]:
    """``RESTORES`` after an audit, each once; ``settled``: of restores that audits before knew."""
    rows: dict[Key, Row] = {}
    oldest = as_of - FORGOTTEN_AFTER_D * 24 * US_PER_H
    for before, of in ((False, weaned), (True, settled)):
        for job in of:
            is_over = before or job["ended"]
            is_whole = job["weaned"] or (is_over and job["has_whole"])
            known_at = (job.get("forgotten") and job["known_at"]) or as_of
            row = {name: job[name] for name in RESTORES.names if name in job} | {
                "settled": is_over or job["weaned"],
                "needs": not is_whole and not (job["ended"] and job["left_nothing"]),
                "known_at": known_at,
            }
            key = key_of(
                row, ("cluster", "job_id", "restored_path", "restored_at", "settled", "needs")
            )
            may_lose = job["has_whole"] or not job["terminal"]
            is_over_for_good = row["settled"] and not (row["needs"] or may_lose)
            is_forgotten = before and known_at < oldest
            if not is_over_for_good and not is_forgotten:
                rows[key] = max(
                    row, rows.get(key, row), key=lambda candidate: candidate["known_at"]
                )
    return list(rows.values())


def roots_listed(listed: Iterable[Row], roots: Iterable[Row]) -> list[Row]:
    """``LISTED`` after an audit."""
    whole = [(root["root"], root["as_of"]) for root in roots if root["unlisted"] == 0]
    newest: dict[str, int] = {}
    for root, as_of in [*((row["root"], row["as_of"]) for row in listed), *whole]:
        newest[root] = max(newest.get(root, as_of), as_of)
    return [{"root": root, "as_of": as_of} for root, as_of in sorted(newest.items())]
