"""All that is said of paths, brought together for each of them: listings, what was known of files, and who refers to them.

One call sees everything that is said of its paths. What it makes of them is a row for each listed file, and sums by checkpoint, job
and directory, of which each call has a part.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage import snapshots as listings
from spark_jobs.arrow_schemas import INSTANT, in_microseconds
from spark_jobs.storage import arrays, carried
from spark_jobs.storage.arrays import Flags, Numbers, column
from spark_jobs.storage.carried import KNOWN_FILES, KNOWN_OF_FILE, REFERRED
from spark_jobs.storage.layout_columns import Placed, are_below, is_metadata, placed

MOST_MISSING = 1000
"""Rows of ``storage_missing`` a checkpoint; their count is exact in ``storage_checkpoint``."""
MOST_MERGED = 100
"""Rows of ``storage_merged_file`` a root."""
AUTHORITY = "^([a-z][a-z0-9+.-]*:(?://[^/]*)?)"

_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
LISTING = pa.schema([("audit_id", _TEXT), *((field.name, in_microseconds(field.type)) for field in listings.SCHEMA)])
CHECKPOINTS = pa.schema(
    [
        ("audit_id", _TEXT), ("metadata_path", _TEXT), ("directory", _TEXT), ("job_directory", _TEXT), ("is_told", _FLAG),
        ("previous_no", _INT), ("job_no", _INT), ("home_no", _INT),
    ]
)  # fmt: skip
"""Of checkpoints that were read, which are numbered in this order: by audit and path. -1 where there is none.

``is_told``: it is older than the listing, which then says of every file whether it is there. ``previous_no``: the one before it of the
same job. ``job_no``: of audit, directory and id of its job; ``home_no`` the same, of what is no savepoint.
"""
ROOTS = pa.schema([("audit_id", _TEXT), ("root", _TEXT), ("as_of", INSTANT), ("unlisted", _INT)])
"""Numbered in this order."""

_PLACED = [("place", _TEXT), ("job_id", _TEXT), ("job_directory", _TEXT), ("checkpoint_id", _INT)]
COMPARED = [f"{kind}_{unit}" for unit in ("files", "bytes", "segments", "segment_bytes") for kind in ("shared", "new", "dropped")]
FIGURES = (
    "files", "bytes", "own_files", "own_bytes", "foreign_files", "foreign_bytes", "missing_files", "missing_bytes", "untold_files",
    "segmented_files", "segmented_file_bytes", "live_segment_bytes",
)  # fmt: skip
REACHED = ("foreign_files", "foreign_bytes", "missing_files", "missing_bytes")
_CHAIN = [("job_no", _INT), ("root_no", _INT), ("other_job_directory", _TEXT)]
SCHEMAS = {
    "files": pa.schema(
        [
            ("audit_id", _TEXT), ("root_no", _INT), ("path", _TEXT), ("listed_path", _TEXT), ("bytes", _INT), ("modified", INSTANT),
            ("replication", _INT), *(KNOWN_FILES.field(name) for name in KNOWN_OF_FILE), *_PLACED,
            ("referrers", pa.list_(pa.int32())), ("segmented", _FLAG), ("live_segment_bytes", _INT),
        ]
    ),
    "unread": pa.schema([("audit_id", _TEXT), *REFERRED]),
    "not_found": pa.schema([("audit_id", _TEXT), ("path", _TEXT)]),
    "storage_absent": KNOWN_FILES,
    "storage_pending": REFERRED,
    "listed_metadata": pa.schema(
        [("audit_id", _TEXT), ("root", _TEXT), ("path", _TEXT), ("modified", INSTANT), ("first_seen_at", INSTANT), *_PLACED]
    ),
    "held": pa.schema([("root_no", _INT), ("job_directory", _TEXT), ("job_id", _TEXT), ("files", _INT)]),
    "figures": pa.schema([("checkpoint_no", _INT), *((name, _INT) for name in FIGURES)]),
    "compared": pa.schema([("checkpoint_no", _INT), *((name, _INT) for name in COMPARED)]),
    "reached": pa.schema([("home_no", _INT), *((name, _INT) for name in REACHED)]),
    "chains": pa.schema([*_CHAIN, ("other_job_id", _TEXT), ("files", _INT), ("bytes", _INT)]),
    "chained": pa.schema([*_CHAIN, ("checkpoint_no", _INT)]),
    "lost": pa.schema([("root_no", _INT), ("missing_files", _INT), ("missing_bytes", _INT)]),
    "outside": pa.schema([("audit_id", _TEXT), ("authority", _TEXT), ("metadata_path", _TEXT)]),
    "not_found_of": pa.schema([("audit_id", _TEXT), ("not_found", _INT)]),
    "unread_checkpoints": pa.schema([("audit_id", _TEXT), ("metadata_path", _TEXT)]),
    "missing": pa.schema([("checkpoint_no", _INT), ("path", _TEXT), ("root_no", _INT), ("bytes", _INT)]),
    "merged": pa.schema(
        [
            ("audit_id", _TEXT), ("root_no", _INT), ("path", _TEXT), ("job_id", _TEXT), ("bytes", _INT), ("live_segment_bytes", _INT),
            ("unused_bytes", _INT), ("checkpoints", _INT),
        ]
    ),
}  # fmt: skip
"""``files`` is judged next, with ``unread``: earlier references of checkpoints that were not read this time."""


class _Paths(NamedTuple):
    """Distinct paths of audits by number, and where what is said of them stands."""

    listing: Numbers
    references: Numbers
    segments: Numbers
    unread: Numbers
    known: Numbers
    size: int


class _Resolved(NamedTuple):
    """References with what is there, one for each checkpoint and path.

    ``missing`` is what is surely not there, ``untold`` of what that cannot be known: below no audited root, below one
    that was not listed whole, and younger than the listing. ``own``: below the directory of the checkpoint or of its job.
    """

    checkpoint: Numbers
    path: Numbers
    bytes: Numbers
    on_disk: Numbers
    file_bytes: Numbers
    segmented: Flags
    root: Numbers
    found: Flags
    missing: Flags
    untold: Flags
    own: Flags
    placed: Placed
    texts: pa.Array


def of_paths(parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """``parts``: listing, known, storage_reference, segments, earlier; ``known``: roots, checkpoints. → ``SCHEMAS``."""
    roots, checkpoints = known["roots"], known["checkpoints"]
    by_audit: dict[str, list[str]] = {}
    for row in roots.to_pylist():
        by_audit.setdefault(row["audit_id"], []).append(row["root"])
    before = carried.files_of_roots(parts["known"], by_audit)
    earlier = carried.references_of_roots(parts["earlier"], by_audit)
    checkpoint_keys = arrays.joined(checkpoints, "audit_id", "metadata_path")
    is_read = arrays.found_at(arrays.joined(earlier.mine, "audit_id", "metadata_path"), checkpoint_keys) >= 0
    unread = earlier.mine.filter(pa.array(~is_read)).select(["audit_id", *REFERRED.names])
    listing, references, segments = parts["listing"], parts["storage_reference"], parts["segments"]
    texts = [arrays.joined(table, "audit_id", "path") for table in (listing, references, segments, unread, before.mine)]
    codes, count = arrays.coded(*texts)
    of_listing, of_references, of_segments, of_unread, of_known = codes
    paths = _Paths(of_listing, of_references, of_segments, of_unread, of_known, count)
    file_bytes = arrays.maxima(paths.listing, arrays.numbers(column(listing, "bytes"), 0), count)
    at_references = arrays.places(arrays.joined(references, "audit_id", "metadata_path"), checkpoint_keys)
    at_segments = arrays.places(arrays.joined(segments, "audit_id", "metadata_path"), checkpoint_keys)
    resolved = _resolved(references, at_references, paths, file_bytes, roots, checkpoints)
    segment_bytes = _live_segments(segments, paths)
    files = _files(listing, before.mine, paths, roots, resolved, segment_bytes)
    torn = roots.filter(pc.greater(roots.column("unlisted"), 0))
    absent = carried.absent_files(before.mine, arrays.marked(paths.listing, count)[paths.known], torn)
    found = {
        "files": files,
        "unread": unread,
        "storage_absent": pa.concat_tables([absent, before.others.select(KNOWN_FILES.names)]),
        "storage_pending": earlier.others.select(REFERRED.names),
        "unread_checkpoints": unread.select(["audit_id", "metadata_path"]).group_by(["audit_id", "metadata_path"]).aggregate([]),
        "listed_metadata": _listed_metadata(files, roots),
        "held": _held(files),
        "compared": _compared(resolved, segments, at_segments, paths, checkpoints),
        "merged": _worth_compacting(resolved, segment_bytes, count, references),
        **_sums(resolved, references, checkpoints, roots, count),
    }
    return {name: rows.select(SCHEMAS[name].names).cast(SCHEMAS[name]) for name, rows in found.items()}


# Files


def _files(listing: pa.Table, known: pa.Table, paths: _Paths, roots: pa.Table, resolved: _Resolved, segment_bytes: Numbers) -> pa.Table:
    """Listed files with their place; first seen now where no audit saw them.

    ``listed_path`` is null where it is the same as ``path``: one long text less to be moved about.
    """
    at_known = np.full(paths.size, -1)
    at_known[paths.known] = np.arange(len(paths.known))
    if len(paths.known) > np.count_nonzero(at_known >= 0):
        known = carried.merged(known)
        keys = pa.concat_tables([listing.select(["audit_id", "path"]), known.select(["audit_id", "path"])])
        (codes,), _ = arrays.coded(arrays.joined(keys, "audit_id", "path"))
        at_known = np.full(paths.size + len(codes), -1)
        at_known[codes[listing.num_rows :]] = np.arange(known.num_rows)
        before = at_known[codes[: listing.num_rows]]
    else:
        before = at_known[paths.listing]
    root_no = arrays.places(arrays.joined(listing, "audit_id", "root"), arrays.joined(roots, "audit_id", "root"))
    of_before = {name: arrays.taken(column(known, name), before) for name in KNOWN_OF_FILE}
    of_before["first_seen_at"] = pc.coalesce(of_before["first_seen_at"], column(roots, "as_of").take(pa.array(root_no)))
    path, listed_path = column(listing, "path"), column(listing, "listed_path")
    order = np.argsort(resolved.path, kind="stable")
    many = arrays.counts(resolved.path, paths.size)
    starts = np.cumsum(many) - many
    lengths = many[paths.listing]
    ends = np.cumsum(lengths)
    places = np.repeat(starts[paths.listing] - (ends - lengths), lengths) + np.arange(lengths.sum())
    referrers = pa.ListArray.from_arrays(
        pa.array(np.concatenate([[0], ends]), pa.int32()), pa.array(resolved.checkpoint[order][places], pa.int32())
    )
    segmented = arrays.marked(resolved.path[resolved.segmented], paths.size)
    made = {
        "audit_id": column(listing, "audit_id"),
        "root_no": root_no,
        "path": path,
        "listed_path": pc.if_else(pc.fill_null(pc.not_equal(listed_path, path), False), listed_path, pa.scalar(None, pa.string())),
        **{name: column(listing, name) for name in ("bytes", "modified", "replication")},
        **of_before,
        **placed(path)._asdict(),
        "referrers": referrers,
        "segmented": segmented[paths.listing],
        "live_segment_bytes": arrays.optional(segment_bytes[paths.listing], pa.int64()),
    }
    return arrays.table(made, SCHEMAS["files"])


def _listed_metadata(files: pa.Table, roots: pa.Table) -> pa.Table:
    found = files.filter(is_metadata(files.column("path")))
    return found.append_column("root", column(roots, "root").take(column(found, "root_no")))


def _held(files: pa.Table) -> pa.Table:
    """Directories of jobs with the number of their files; one row without a job stands for all files of a root that lie in none."""
    key = ["root_no", "job_directory", "job_id"]
    return files.select(key).group_by(key).aggregate([([], "count_all")]).rename_columns({"count_all": "files"})


# References


def _resolved(
    references: pa.Table, checkpoint: Numbers, paths: _Paths, file_bytes: Numbers, roots: pa.Table, checkpoints: pa.Table
) -> _Resolved:
    texts = column(references, "path")
    at_root = np.full(len(texts), -1)
    audit_ids = column(references, "audit_id")
    for number, root in enumerate(roots.to_pylist()):
        below = arrays.flags(pc.and_(are_below(texts, root["root"]), pc.equal(audit_ids, root["audit_id"])))
        at_root[below] = number
    of_path = placed(texts)
    unlisted = np.append(arrays.numbers(column(roots, "unlisted")), 0)[at_root]
    there = file_bytes[paths.references]
    found = arrays.known(there)
    told = (at_root >= 0) & (unlisted == 0) & arrays.flags(column(checkpoints, "is_told"))[checkpoint]
    home = column(checkpoints, "job_directory").take(pa.array(checkpoint))
    own = arrays.flags(pc.equal(of_path.job_directory, home))
    elsewhere = np.flatnonzero(~own)
    directories = column(checkpoints, "directory").take(pa.array(checkpoint[elsewhere])).to_pylist()
    for at, path, directory in zip(elsewhere, texts.take(pa.array(elsewhere)).to_pylist(), directories, strict=True):
        own[at] = path.startswith(f"{directory.rstrip('/')}/")
    bytes_of, segmented = arrays.numbers(column(references, "bytes")), arrays.flags(column(references, "segmented"))
    return _Resolved(
        checkpoint=checkpoint,
        path=paths.references,
        bytes=bytes_of,
        on_disk=np.where(segmented & found, there, bytes_of),
        file_bytes=there,
        segmented=segmented,
        root=at_root,
        found=found,
        missing=~found & told,
        untold=~found & ~told,
        own=own,
        placed=of_path,
        texts=texts,
    )


def _live_segments(segments: pa.Table, paths: _Paths) -> Numbers:
    """Per merged file: bytes of the distinct segments that any retained checkpoint refers to; unknown where there is none."""
    named = pa.table({"path": paths.segments, "offset": column(segments, "offset_bytes"), "bytes": column(segments, "bytes")})
    distinct = named.group_by(["path", "offset"]).aggregate([("bytes", "max")])
    at, size = arrays.numbers(column(distinct, "path")), arrays.numbers(column(distinct, "bytes_max"))
    found = arrays.sums(at, size, paths.size)
    found[~arrays.marked(at[arrays.known(size)], paths.size)] = arrays.UNKNOWN
    return found


def _worth_compacting(resolved: _Resolved, segment_bytes: Numbers, count: int, references: pa.Table) -> pa.Table:
    """Merged files that are there, that a retained snapshot refers to, and of which it needs a part only; others are orphans or waste."""
    chosen = np.flatnonzero(resolved.segmented & resolved.found & (resolved.root >= 0))
    path, first = np.unique(resolved.path[chosen], return_index=True)
    at = chosen[first]
    checkpoints = arrays.counts(resolved.path[chosen], count)[path]
    live, size = segment_bytes[path], resolved.file_bytes[at]
    partly = arrays.known(live) & (size > live)
    at, path, live, size = at[partly], path[partly], live[partly], size[partly]
    taken = pa.array(at)
    rows = pa.table(
        {
            "audit_id": column(references, "audit_id").take(taken),
            "root_no": resolved.root[at],
            "path": resolved.texts.take(taken),
            "job_id": resolved.placed.job_id.take(taken),
            "bytes": size,
            "live_segment_bytes": live,
            "unused_bytes": size - live,
            "checkpoints": checkpoints[partly],
        }
    )
    return most_unused(rows)


def most_unused(merged: pa.Table) -> pa.Table:
    order = [("root_no", "ascending"), ("unused_bytes", "descending"), ("path", "ascending")]
    return _first_of(merged.sort_by(order), "root_no", MOST_MERGED)


def first_missing(missing: pa.Table) -> pa.Table:
    order = [("checkpoint_no", "ascending"), ("path", "ascending")]
    return _first_of(missing.sort_by(order), "checkpoint_no", MOST_MISSING)


def _first_of(rows: pa.Table, key: str, most: int) -> pa.Table:
    """At most so many rows for each value of a column by which ``rows`` are sorted."""
    values = arrays.numbers(column(rows, key))
    place = np.arange(len(values)) - np.searchsorted(values, values)
    return rows.filter(pa.array(place < most))


def _compared(resolved: _Resolved, segments: pa.Table, of_segments: Numbers, paths: _Paths, checkpoints: pa.Table) -> pa.Table:
    """Per checkpoint with one before it of the same job: what it shares with that one, what is new, what was dropped since.

    Files are physical files, with what they take on disk; segments of merged files are counted apart, each by its own bytes.
    """
    offsets = arrays.numbers(column(segments, "offset_bytes"))
    if len(offsets):
        pairs, at = np.unique(np.stack([paths.segments, offsets], axis=1), axis=0, return_inverse=True)
        count = len(pairs)
    else:
        at, count = paths.segments, 1
    sizes = arrays.numbers(column(segments, "bytes"))
    previous = arrays.numbers(column(checkpoints, "previous_no"))
    figures = {
        **_of_pairs(resolved.checkpoint, resolved.path, resolved.on_disk, paths.size, previous, "files", "bytes"),
        **_of_pairs(of_segments, at.ravel(), sizes, count, previous, "segments", "segment_bytes"),
    }
    return _nonzero("checkpoint_no", figures)


def _of_pairs(
    checkpoint: Numbers, part: Numbers, sizes: Numbers, parts: int, previous: Numbers, files: str, bytes_of: str
) -> dict[str, Numbers]:
    """Counts and bytes of the parts of both checkpoints of each pair; a part is there once in each."""
    size = len(previous)
    following = np.full(size, -1)
    following[previous[previous >= 0]] = np.flatnonzero(previous >= 0)
    key = checkpoint * parts + part
    before, after = previous[checkpoint], following[checkpoint]
    of_before, of_after = _met(key, before * parts + part), _met(key, after * parts + part)
    with_one = (before >= 0) & (of_before >= 0)
    either = np.where(~arrays.known(sizes) & with_one, sizes[of_before], sizes)
    which = {
        "shared": (with_one, checkpoint, either),
        "new": ((before >= 0) & ~with_one, checkpoint, sizes),
        "dropped": ((after >= 0) & (of_after < 0), after, sizes),
    }
    counted = {f"{kind}_{files}": arrays.counts(of[chosen], size) for kind, (chosen, of, _) in which.items()}
    return counted | {f"{kind}_{bytes_of}": arrays.sums(of[chosen], of_part[chosen], size) for kind, (chosen, of, of_part) in which.items()}


def _met(keys: Numbers, wanted: Numbers) -> Numbers:
    """Where each wanted number stands among ``keys``, -1 where it does not."""
    order = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), max(len(keys) - 1, 0))
    found: Numbers = np.where(keys[order[at]] == wanted, order[at], -1) if len(keys) else at
    return found


def _nonzero(key: str, figures: dict[str, Numbers]) -> pa.Table:
    at = np.flatnonzero(np.any([figure != 0 for figure in figures.values()], axis=0))
    return pa.table({key: at, **{name: figure[at] for name, figure in figures.items()}})


def _sums(resolved: _Resolved, references: pa.Table, checkpoints: pa.Table, roots: pa.Table, count: int) -> dict[str, pa.Table]:
    audit_ids = column(references, "audit_id")
    not_found = pa.table({"audit_id": audit_ids, "path": resolved.texts}).filter(pa.array(~resolved.found))
    told = pa.table({"audit_id": audit_ids, "metadata_path": column(references, "metadata_path"), "path": resolved.texts})
    outside = told.filter(pa.array(resolved.root < 0))
    authority = pc.struct_field(pc.extract_regex(column(outside, "path"), AUTHORITY.replace("(", "(?P<authority>", 1)), [0])
    named = outside.append_column("authority", pc.fill_null(authority, ""))
    missing = np.flatnonzero(resolved.missing)
    rows = pa.table(
        {
            "checkpoint_no": resolved.checkpoint[missing],
            "path": resolved.texts.take(pa.array(missing)),
            "root_no": resolved.root[missing],
            "bytes": resolved.bytes[missing],
        }
    )
    path, first = np.unique(resolved.path[missing], return_index=True)
    largest = arrays.maxima(resolved.path[missing], resolved.bytes[missing], count)[path]
    of_root = resolved.root[missing[first]]
    return {
        "figures": _figures(resolved, checkpoints.num_rows),
        "reached": _reached(resolved, arrays.numbers(column(checkpoints, "home_no")), count),
        **_chains(resolved, arrays.numbers(column(checkpoints, "job_no")), count),
        "lost": _nonzero(
            "root_no",
            {
                "missing_files": arrays.counts(of_root, roots.num_rows),
                "missing_bytes": arrays.sums(of_root, largest, roots.num_rows),
            },
        ),
        "outside": named.group_by(["audit_id", "authority"]).aggregate([("metadata_path", "min")]).rename_columns(
            {"metadata_path_min": "metadata_path"}
        ),
        "not_found": not_found.group_by(["audit_id", "path"]).aggregate([]),
        "not_found_of": not_found.group_by("audit_id").aggregate([([], "count_all")]).rename_columns({"count_all": "not_found"}),
        "missing": first_missing(rows),
    }  # fmt: skip


def _figures(resolved: _Resolved, size: int) -> pa.Table:
    def counted(name: str, which: Flags) -> dict[str, Numbers]:
        at = resolved.checkpoint[which]
        return {f"{name}_files": arrays.counts(at, size), f"{name}_bytes": arrays.sums(at, resolved.bytes[which], size)}

    segmented = resolved.checkpoint[resolved.segmented]
    return _nonzero(
        "checkpoint_no",
        {
            "files": arrays.counts(resolved.checkpoint, size),
            "bytes": arrays.sums(resolved.checkpoint, resolved.bytes, size),
            **counted("own", resolved.own),
            **counted("foreign", ~resolved.own),
            **counted("missing", resolved.missing),
            "untold_files": arrays.counts(resolved.checkpoint[resolved.untold], size),
            "segmented_files": arrays.counts(segmented, size),
            "segmented_file_bytes": arrays.sums(segmented, resolved.on_disk[resolved.segmented], size),
            "live_segment_bytes": arrays.sums(segmented, resolved.bytes[resolved.segmented], size),
        },
    )


def _reached(resolved: _Resolved, home_no: Numbers, count: int) -> pa.Table:
    """Per job directory the distinct files that its checkpoints refer to: those elsewhere, and those that are missing."""
    home = home_no[resolved.checkpoint]
    chosen = np.flatnonzero(home >= 0)
    key, at = np.unique(home[chosen] * count + resolved.path[chosen], return_inverse=True)
    largest = arrays.maxima(at, resolved.bytes[chosen], len(key))
    of, size = key // max(count, 1), home_no.max(initial=-1) + 1
    figures: dict[str, Numbers] = {}
    for name, which in (("foreign", ~resolved.own), ("missing", resolved.missing)):
        is_one = arrays.marked(at[which[chosen]], len(key))
        figures |= {f"{name}_files": arrays.counts(of[is_one], size), f"{name}_bytes": arrays.sums(of[is_one], largest[is_one], size)}
    return _nonzero("home_no", figures)


def _chains(resolved: _Resolved, job_no: Numbers, count: int) -> dict[str, pa.Table]:
    """Distinct files of another job's directory per job that refers to them, and which of its checkpoints do."""
    chosen = np.flatnonzero(~resolved.own & arrays.flags(pc.is_valid(resolved.placed.job_id)))
    job = job_no[resolved.checkpoint[chosen]]
    key, first, at = np.unique(job * count + resolved.path[chosen], return_index=True, return_inverse=True)
    files = pa.array(chosen[first])
    rows = pa.table(
        {
            "job_no": job[first],
            "root_no": resolved.root[chosen[first]],
            "other_job_directory": resolved.placed.job_directory.take(files),
            "other_job_id": resolved.placed.job_id.take(files),
            "bytes": arrays.maxima(at, resolved.bytes[chosen], len(key)),
        }
    )
    ends = [name for name, _ in _CHAIN]
    summed = rows.group_by([*ends, "other_job_id"]).aggregate([([], "count_all"), ("bytes", "sum")])
    referrers = pa.table(
        {
            "job_no": job,
            "root_no": resolved.root[chosen],
            "other_job_directory": resolved.placed.job_directory.take(pa.array(chosen)),
            "checkpoint_no": resolved.checkpoint[chosen],
        }
    )
    return {
        "chains": summed.rename_columns({"count_all": "files", "bytes_sum": "bytes"}),
        "chained": referrers.group_by([*ends, "checkpoint_no"]).aggregate([]),
    }
