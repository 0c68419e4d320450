"""What deleting by age would have done: the usual rule, held against what is referred to."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Numbers, column, later, numbers
from spark_jobs.storage.layout_columns import are_below
from spark_jobs.storage.plain import US_PER_H, Key, Row, by
from spark_jobs.storage_words import LIVE, ORPHAN

MOST_CHECKPOINTS = 200
"""Of each root, those that would lose most files; their count is exact."""

_ROOT = [("audit_id", pa.string()), ("root", pa.string())]
_FIGURES = [f"{kind}{unit}" for kind in ("", "live_", "missed_") for unit in ("files", "bytes")]
_LOST = ("lost_files", "lost_bytes", "lost_metadata")
SCHEMAS = {
    "totals": pa.schema([*_ROOT, *((name, pa.int64()) for name in _FIGURES)]),
    "lost": pa.schema(
        [*_ROOT, ("metadata_path", pa.string()), *((name, pa.int64()) for name in _LOST)]
    ),
}
KEYS = {"totals": ("audit_id", "root"), "lost": ("audit_id", "root", "metadata_path")}


def deleted(
    parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table], days: int, below: str = ""
) -> dict[str, pa.Table]:
    """``parts``: files (``storage_file`` and ``storage_live`` rows) and references;
    ``known["roots"]``: root and ``as_of``.

    ``totals``: what would be deleted, how much of it is live, and the orphans that the rule would
    leave. ``lost``: what a checkpoint would lose of the files of a root, which may be another one
    than its own. Deleted are files written more than ``days`` before the audit, ``below`` a
    directory. As such a rule judges: by modification time alone, whatever the file is. One without
    a time is not.
    """
    files, references, roots = parts["files"], parts["references"], known["roots"]
    at = arrays.places(
        arrays.joined(files, "audit_id", "root"), arrays.joined(roots, "audit_id", "root")
    )
    old = later(
        numbers(column(roots, "as_of"))[at] - days * 24 * US_PER_H,
        numbers(column(files, "modified")),
    )
    if below:
        old &= arrays.flags(are_below(column(files, "path"), below))
    live, orphan = (
        arrays.flags(pc.equal(column(files, "verdict"), verdict)) for verdict in (LIVE, ORPHAN)
    )
    size = numbers(column(files, "bytes"), 0)
    figures: dict[str, Numbers] = {}
    for kind, which in (("", old), ("live_", old & live), ("missed_", ~old & orphan)):
        figures |= {
            f"{kind}files": which.astype(np.int64),
            f"{kind}bytes": np.where(which, size, 0),
        }
    gone = files.filter(pa.array(old))
    gone_at = arrays.found_at(
        arrays.joined(references, "audit_id", "path"), arrays.joined(gone, "audit_id", "path")
    )
    of_references = pa.table(
        {
            "audit_id": references.column("audit_id"),
            "root": arrays.taken(column(gone, "root"), gone_at),
            "metadata_path": references.column("metadata_path"),
            "lost_files": np.ones(references.num_rows, np.int64),
            "lost_bytes": arrays.taken(column(gone, "bytes"), gone_at),
            "lost_metadata": np.zeros(references.num_rows, np.int64),
        }
    ).filter(pa.array(gone_at >= 0))
    own = {
        name: column(gone, of)
        for name, of in (("audit_id", "audit_id"), ("root", "root"), ("metadata_path", "path"))
    }
    ones = np.ones(gone.num_rows, np.int64)
    of_metadata = arrays.table(
        own | {"lost_files": 0 * ones, "lost_bytes": 0 * ones, "lost_metadata": ones},
        SCHEMAS["lost"],
    )
    snapshots = of_metadata.filter(
        pc.is_in(
            column(of_metadata, "metadata_path"),
            value_set=column(known["checkpoints"], "metadata_path"),
        )
    )
    return {
        "totals": added_up_one(
            pa.table({name: files.column(name) for name in KEYS["totals"]} | figures), "totals"
        ),
        "lost": added_up_one(
            pa.concat_tables([of_references.cast(SCHEMAS["lost"]), snapshots]), "lost"
        ),
    }


def added_up_one(rows: pa.Table, name: str) -> pa.Table:
    return arrays.summed(rows, KEYS[name]).select(SCHEMAS[name].names)


def added_up(parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: added_up_one(rows, name) for name, rows in parts.items()}


def broken_checkpoints(lost: Iterable[Row], checkpoints: Iterable[Row]) -> list[Row]:
    """Per root and checkpoint that can be restored now, but not without the deleted files of that
    root; ``lost_metadata``, too.
    """
    # What names the root of a checkpoint is not needed: a rule for one root breaks checkpoints in
    # others.
    whole = by(
        (row for row in checkpoints if row["resolvable"] is not False), "audit_id", "metadata_path"
    )
    return [
        checkpoint | row | {"lost_metadata": row["lost_metadata"] > 0}
        for row in lost
        for checkpoint in whole.get((row["audit_id"], row["metadata_path"]), ())
    ]


def most_broken(broken: Sequence[Row]) -> list[Row]:
    """The first ``MOST_CHECKPOINTS`` of a root."""
    return sorted(
        broken, key=lambda row: (-row["lost_files"], -row["lost_bytes"], row["metadata_path"])
    )[:MOST_CHECKPOINTS]


def broken_jobs(broken: Iterable[Row]) -> set[Key]:
    return {(row["cluster"], row["job_id"]) for row in broken if row["job_id"]}
