"""All facts about each path, by listings, earlier audits and references: a row for each listed
file, and partial sums by checkpoint, job and directory.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage import snapshots as listings
from spark_jobs.arrow_schemas import INSTANT, fields_of, schema
from spark_jobs.storage import arrays, previous_audit
from spark_jobs.storage.arrays import Flags, Numbers, Tables, column
from spark_jobs.storage.layout_columns import are_below, is_metadata, placed
from spark_jobs.storage.owners import is_whole_but_links
from spark_jobs.storage.plain import NEVER
from spark_jobs.storage.previous_audit import KNOWN_FILES, KNOWN_OF_FILE, REFERRED
from spark_jobs.storage.reference_sums import CHAIN, FIGURES, REACHED, compared, sums_of
from spark_jobs.storage.resolution import Paths, Resolved, live_segments, resolve

_AUDIT = schema(audit_id="text")
LISTING = schema(*_AUDIT, *fields_of(listings.SCHEMA))
CHECKPOINTS = schema(
    audit_id="text",
    metadata_path="text",
    directory="text",
    job_directory="text",
    is_covered="flag",
    previous_no="int",
    job_no="int",
    home_no="int",
)
"""Checkpoints that were read, numbered in this order: by audit and path. The number -1 means none.
``is_covered``: the checkpoint is older than the listing, so a file that is not listed is missing.
``previous_no``: the checkpoint before it of the same job. ``job_no``: number of (audit, job
directory, job id). ``home_no``: number of (audit, root, job directory); -1 for a savepoint.
"""
ROOTS = schema(*_AUDIT, root="text", as_of="instant", unlisted="int", links=pa.list_(pa.string()))
"""Roots are numbered in this order."""

_PLACED = schema(place="text", job_id="text", job_directory="text", checkpoint_id="int")
_CHECKPOINT = schema(*_AUDIT, metadata_path="text")
SCHEMAS = {
    "files": schema(
        *schema(audit_id="text", root_no="int", path="text", listed_path="text"),
        *schema(bytes="int", modified="instant", replication="int"),
        *fields_of(KNOWN_FILES, *KNOWN_OF_FILE),
        *_PLACED,
        referrers=pa.list_(pa.int32()),
        segmented="flag",
        live_segment_bytes="int",
    ),
    "unread": schema(*_AUDIT, *REFERRED, is_covered="flag"),
    "not_found": schema(*_AUDIT, path="text"),
    "storage_absent": KNOWN_FILES,
    "storage_pending": REFERRED,
    "listed_metadata": schema(
        *_AUDIT,
        *schema(root="text", path="text", modified="instant", first_seen_at="instant"),
        *_PLACED,
    ),
    "file_directories": schema(
        root_no="int", job_directory="text", job_id="text", files="int", newest="int"
    ),
    "figures": schema(checkpoint_no="int", **dict.fromkeys(FIGURES, "int")),
    "compared": schema(checkpoint_no="int", new_files="int"),
    "reached": schema(home_no="int", **dict.fromkeys(REACHED, "int")),
    "chains": schema(*CHAIN, other_job_id="text", files="int", bytes="int"),
    "chained": schema(*CHAIN, checkpoint_no="int"),
    "lost": schema(root_no="int", missing_files="int", missing_bytes="int"),
    "outside": schema(*_AUDIT, authority="text", job_id="text", metadata_path="text"),
    "not_found_of": schema(*_AUDIT, not_found="int"),
    "unread_checkpoints": _CHECKPOINT,
    "vanished_checkpoints": _CHECKPOINT,
    "known_metadata": schema(*_AUDIT, path="text", modified="instant"),
    "missing": schema(checkpoint_no="int", path="text", root_no="int", bytes="int"),
}
"""``unread``: earlier references that were not read again: their checkpoint was not read, or
another checkpoint has its path now. ``is_covered``: the file is below a root that was listed whole,
and is listed now, or was referred to when it was last listed.
"""


def collect_facts(parts: Tables, shared: Tables) -> dict[str, pa.Table]:
    """Tables of ``SCHEMAS``. ``parts``: listing, known (files), storage_reference, segments,
    earlier (references). ``shared``: roots, checkpoints, listed.
    """
    roots, checkpoints = shared["roots"], shared["checkpoints"]
    by_audit: dict[str, list[str]] = {}
    for row in roots.to_pylist():
        by_audit.setdefault(row["audit_id"], []).append(row["root"])
    before = previous_audit.files_of_roots(parts["known"], by_audit)
    earlier = previous_audit.references_of_roots(parts["earlier"], by_audit)
    is_read = arrays.are_in(earlier.audited, checkpoints, "audit_id", "metadata_path")
    listing, references, segments = parts["listing"], parts["storage_reference"], parts["segments"]
    # If the checkpoint was read now but lacks the reference, it replaced the earlier checkpoint.
    is_named = arrays.are_in(earlier.audited, references, "audit_id", "metadata_path", "path")
    unread = earlier.audited.filter(pa.array(~(is_read & is_named))).select(
        ["audit_id", *REFERRED.names]
    )
    tables = (listing, references, segments, unread, before.audited)
    # Paths are long: with a single audit no copies with the audit's id are made.
    key = ("audit_id", "path") if len(by_audit) > 1 else ("path",)
    codes, count = arrays.encode(*(arrays.texts(table, *key) for table in tables))
    paths = Paths._make([*codes, count])
    file_bytes = arrays.maxima(paths.listing, arrays.numbers_of(listing, "bytes", 0), count)
    at_references = arrays.require_places(
        arrays.texts(references, "audit_id", "metadata_path"),
        arrays.texts(checkpoints, "audit_id", "metadata_path"),
    )
    resolved = resolve(references, at_references, paths, file_bytes, roots, checkpoints)
    files = _files(listing, before.audited, paths, shared, resolved, live_segments(segments, paths))
    is_listed = arrays.mark(paths.listing, count)
    absent = previous_audit.absent_files(before.audited, is_listed[paths.known], roots)
    # A missing file of a gone checkpoint may be in quarantine: then the next audit needs the
    # reference.
    is_covered = _are_below_whole(unread, roots)
    is_referred = arrays.flags(pc.is_null(column(before.audited, "unreferenced_since")))
    is_covered &= (is_listed | arrays.mark(paths.known[is_referred], count))[paths.unread]
    sums = sums_of(resolved, references, checkpoints, roots, count)
    elsewhere = previous_audit.needed_elsewhere(before.others, earlier.others, by_audit)
    not_found = pa.concat_tables([sums["not_found"], elsewhere])
    facts_by_part = {
        "files": files,
        "unread": unread.append_column("is_covered", pa.array(is_covered, pa.bool_())),
        "storage_absent": pa.concat_tables([absent, before.others.select(KNOWN_FILES.names)]),
        "storage_pending": earlier.others.select(REFERRED.names),
        "unread_checkpoints": _checkpoints(unread, earlier.others, by_audit),
        "vanished_checkpoints": _checkpoints(
            _vanished_referrers(before.audited), _vanished_referrers(before.others), by_audit
        ),
        "listed_metadata": _listed_metadata(files, roots),
        "known_metadata": before.audited.filter(is_metadata(before.audited.column("path"))),
        "file_directories": _job_directories(files),
        "compared": compared(resolved, paths, checkpoints),
        **sums,
        "not_found": not_found,
        "not_found_of": not_found.group_by("audit_id")
        .aggregate([([], "count_all")])
        .rename_columns({"count_all": "not_found"}),
    }
    return {
        name: rows.select(SCHEMAS[name].names).cast(SCHEMAS[name])
        for name, rows in facts_by_part.items()
    }


def _checkpoints(audited: pa.Table, others: pa.Table, audits: Iterable[str]) -> pa.Table:
    """The distinct checkpoints of both; ``others`` once for every audit."""
    elsewhere = arrays.distinct(others, ["metadata_path"])
    of_audits = (previous_audit.with_audit(elsewhere, audit_id) for audit_id in audits)
    rows = pa.concat_tables(table.select(_CHECKPOINT.names) for table in (audited, *of_audits))
    return arrays.distinct(rows, _CHECKPOINT.names)


def _vanished_referrers(files: pa.Table) -> pa.Table:
    names = [
        "metadata_path" if name == "vanished_referrer" else name for name in files.column_names
    ]
    return files.filter(pc.is_valid(files.column("vanished_referrer"))).rename_columns(names)


def _are_below_whole(referred: pa.Table, roots: pa.Table) -> Flags:
    is_below_whole = np.zeros(referred.num_rows, np.bool_)
    paths, audit_ids = column(referred, "path"), column(referred, "audit_id")
    for root in roots.to_pylist() if referred.num_rows else ():
        if is_whole_but_links(root):
            is_listed = pc.and_(
                are_below(paths, root["root"]), pc.equal(audit_ids, root["audit_id"])
            )
            for link in root["links"]:
                is_behind = pc.or_(are_below(paths, link), pc.equal(paths, link))
                is_listed = pc.and_not(is_listed, is_behind)
            is_below_whole |= arrays.flags(is_listed)
    return is_below_whole


def _files(
    listing: pa.Table,
    before: pa.Table,
    paths: Paths,
    shared: Tables,
    resolved: Resolved,
    segment_bytes: Numbers,
) -> pa.Table:
    """Listed files with all facts. ``listed_path``: null if it equals ``path`` (both are long)."""
    roots = shared["roots"]
    at_known = np.full(paths.size, -1)
    at_known[paths.known] = np.arange(len(paths.known))
    if len(paths.known) > np.count_nonzero(at_known >= 0):
        before = previous_audit.merged(before)
        keys = pa.concat_tables([table.select(["audit_id", "path"]) for table in (listing, before)])
        (codes,), _ = arrays.encode(arrays.texts(keys, "audit_id", "path"))
        at_known = np.full(paths.size + len(codes), -1)
        at_known[codes[listing.num_rows :]] = np.arange(before.num_rows)
        at = at_known[codes[: listing.num_rows]]
    else:
        at = at_known[paths.listing]
    root_no = arrays.require_places(
        arrays.texts(listing, "audit_id", "root"), arrays.texts(roots, "audit_id", "root")
    )
    of_before = {name: arrays.take(column(before, name), at) for name in KNOWN_OF_FILE}
    of_before["first_seen_at"] = pc.coalesce(
        of_before["first_seen_at"], column(roots, "as_of").take(pa.array(root_no))
    )
    unlisted_at = arrays.optional(
        previous_audit.unlisted_at(listing, root_no, roots, shared["listed"]), INSTANT
    )
    of_before["unlisted_at"] = pc.if_else(pa.array(at >= 0), of_before["unlisted_at"], unlisted_at)
    as_of = arrays.numbers_of(roots, "as_of")[root_no]
    since = previous_audit.listed_since(
        arrays.numbers(of_before["listed_since"]), arrays.numbers(of_before["unlisted_at"]), as_of
    )
    of_before["listed_since"] = arrays.optional(since, INSTANT)
    path, listed_path = column(listing, "path"), column(listing, "listed_path")
    segmented = arrays.mark(resolved.path[resolved.segmented], paths.size)
    columns = {
        "audit_id": column(listing, "audit_id"),
        "root_no": root_no,
        "path": path,
        "listed_path": pc.if_else(
            pc.fill_null(pc.not_equal(listed_path, path), False),
            listed_path,
            pa.scalar(None, pa.string()),
        ),
        **{name: column(listing, name) for name in ("bytes", "modified", "replication")},
        **of_before,
        **placed(path)._asdict(),
        "referrers": _referrers(paths, resolved),
        "segmented": segmented[paths.listing],
        "live_segment_bytes": arrays.optional(segment_bytes[paths.listing], pa.int64()),
    }
    return arrays.table(columns, SCHEMAS["files"])


def _referrers(paths: Paths, resolved: Resolved) -> pa.ListArray:
    order = np.argsort(resolved.path, kind="stable")
    counts = arrays.counts(resolved.path, paths.size)
    starts = np.cumsum(counts) - counts
    lengths = counts[paths.listing]
    ends = np.cumsum(lengths)
    places = np.repeat(starts[paths.listing] - (ends - lengths), lengths) + np.arange(lengths.sum())
    return pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], ends]), pa.int32()),
        pa.array(resolved.checkpoint[order][places], pa.int32()),
    )


def _listed_metadata(files: pa.Table, roots: pa.Table) -> pa.Table:
    metadata_files = files.filter(is_metadata(files.column("path")))
    return metadata_files.append_column(
        "root", column(roots, "root").take(column(metadata_files, "root_no"))
    )


def _job_directories(files: pa.Table) -> pa.Table:
    """Job directories with the number of files and when the newest was written or seen (µs); one
    row for other files of a root.
    """
    key = ["root_no", "job_directory", "job_id"]
    modified = np.where(
        arrays.known(arrays.numbers_of(files, "modified")),
        arrays.numbers_of(files, "modified"),
        NEVER,
    )
    newest = np.maximum(modified, arrays.numbers_of(files, "first_seen_at"))
    return (
        files.select(key)
        .append_column("newest", pa.array(newest))
        .group_by(key)
        .aggregate([([], "count_all"), ("newest", "max")])
        .rename_columns({"count_all": "files", "newest_max": "newest"})
    )
