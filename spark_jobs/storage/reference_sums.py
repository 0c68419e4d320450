"""Sums of references by checkpoint, job and root, and the missing files shown."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import schema
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Flags, Numbers, column
from spark_jobs.storage.resolution import Paths, Resolved

MOST_MISSING = 1000
"""Rows of ``storage_missing`` of one checkpoint."""
AUTHORITY = "^([a-z][a-z0-9+.-]*:(?://[^/]*)?)"

FIGURES = (
    "files",
    "bytes",
    "foreign_files",
    "foreign_bytes",
    "missing_files",
    "missing_bytes",
    "uncovered_files",
)
REACHED = ("foreign_files", "foreign_bytes", "missing_files", "missing_bytes")
CHAIN = schema(job_no="int", root_no="int", other_job_directory="text")


def first_missing(missing: pa.Table) -> pa.Table:
    rows = missing.sort_by([("checkpoint_no", "ascending"), ("path", "ascending")])
    numbers = arrays.numbers_of(rows, "checkpoint_no")
    position = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
    return rows.filter(pa.array(position < MOST_MISSING))


def compared(resolved: Resolved, paths: Paths, checkpoints: pa.Table) -> pa.Table:
    """By checkpoint, the number of files to which its job's previous does not refer."""
    previous = arrays.numbers_of(checkpoints, "previous_no")
    checkpoint, path = resolved.checkpoint, resolved.path
    previous_no = previous[checkpoint]
    # A pair of checkpoint and path as one number.
    pairs, previous_pairs = (number * paths.size + path for number in (checkpoint, previous_no))
    is_new = (previous_no >= 0) & ~np.isin(previous_pairs, pairs)
    return _nonzero(
        "checkpoint_no", {"new_files": arrays.counts(checkpoint[is_new], len(previous))}
    )


def _nonzero(key: str, figures: dict[str, Numbers]) -> pa.Table:
    """Rows with a figure other than 0; ``key``: the index in ``figures``."""
    at = np.flatnonzero(np.any([figure != 0 for figure in figures.values()], axis=0))
    return pa.table({key: at, **{name: figure[at] for name, figure in figures.items()}})


def sums_of(
    resolved: Resolved, references: pa.Table, checkpoints: pa.Table, roots: pa.Table, count: int
) -> dict[str, pa.Table]:
    named_files = pa.table(
        {
            "audit_id": column(references, "audit_id"),
            "metadata_path": column(references, "metadata_path"),
            "path": resolved.texts,
        }
    )
    not_found = named_files.filter(pa.array(~resolved.found))
    is_outside = pa.array(resolved.root < 0)
    outside = named_files.filter(is_outside)
    authority = pc.struct_field(
        pc.extract_regex(column(outside, "path"), AUTHORITY.replace("(", "(?P<authority>", 1)), [0]
    )
    outside = outside.append_column("authority", pc.fill_null(authority, "")).append_column(
        "job_id", pc.fill_null(resolved.placed.job_id.filter(is_outside), "")
    )
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
        "reached": _referred_files(resolved, arrays.numbers_of(checkpoints, "home_no"), count),
        **_chains(resolved, arrays.numbers_of(checkpoints, "job_no"), count),
        "lost": _nonzero(
            "root_no",
            {
                "missing_files": arrays.counts(of_root, roots.num_rows),
                "missing_bytes": arrays.sums(of_root, largest, roots.num_rows),
            },
        ),
        "outside": outside.group_by(["audit_id", "authority", "job_id"])
        .aggregate([("metadata_path", "min")])
        .rename_columns({"metadata_path_min": "metadata_path"}),
        "not_found": not_found.group_by(["audit_id", "path"]).aggregate([]),
        "missing": first_missing(rows),
    }


def _figures(resolved: Resolved, size: int) -> pa.Table:
    def sums(name: str, chosen: Flags) -> dict[str, Numbers]:
        at = resolved.checkpoint[chosen]
        return {
            f"{name}_files": arrays.counts(at, size),
            f"{name}_bytes": arrays.sums(at, resolved.bytes[chosen], size),
        }

    return _nonzero(
        "checkpoint_no",
        {
            "files": arrays.counts(resolved.checkpoint, size),
            "bytes": arrays.sums(resolved.checkpoint, resolved.bytes, size),
            **sums("foreign", ~resolved.own),
            **sums("missing", resolved.missing),
            "uncovered_files": arrays.counts(resolved.checkpoint[resolved.uncovered], size),
        },
    )


def _referred_files(resolved: Resolved, home_no: Numbers, count: int) -> pa.Table:
    """By job directory: distinct files elsewhere to which it refers, and missing files."""
    home = home_no[resolved.checkpoint]
    chosen = np.flatnonzero(home >= 0)
    key, at = np.unique(home[chosen] * count + resolved.path[chosen], return_inverse=True)
    largest = arrays.maxima(at, resolved.bytes[chosen], len(key))
    key_home, size = key // max(count, 1), home_no.max(initial=-1) + 1
    figures: dict[str, Numbers] = {}
    for name, flags in (("foreign", ~resolved.own), ("missing", resolved.missing)):
        has_flag = arrays.mark(at[flags[chosen]], len(key))
        figures |= {
            f"{name}_files": arrays.counts(key_home[has_flag], size),
            f"{name}_bytes": arrays.sums(key_home[has_flag], largest[has_flag], size),
        }
    return _nonzero("home_no", figures)


def _chains(resolved: Resolved, job_no: Numbers, count: int) -> dict[str, pa.Table]:
    """By job: distinct files of other jobs to which it refers, and its checkpoints that refer."""
    chosen = np.flatnonzero(~resolved.own & arrays.flags(pc.is_valid(resolved.placed.job_id)))
    job = job_no[resolved.checkpoint[chosen]]
    key, first, at = np.unique(
        job * count + resolved.path[chosen], return_index=True, return_inverse=True
    )
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
    chains = rows.group_by([*CHAIN.names, "other_job_id"]).aggregate(
        [([], "count_all"), ("bytes", "sum")]
    )
    referrers = pa.table(
        {
            "job_no": job,
            "root_no": resolved.root[chosen],
            "other_job_directory": resolved.placed.job_directory.take(pa.array(chosen)),
            "checkpoint_no": resolved.checkpoint[chosen],
        }
    )
    return {
        "chains": chains.rename_columns({"count_all": "files", "bytes_sum": "bytes"}),
        "chained": referrers.group_by([*CHAIN.names, "checkpoint_no"]).aggregate([]),
    }
