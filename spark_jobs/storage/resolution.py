from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Flags, Numbers, column
from spark_jobs.storage.layout_columns import Placed, are_below, placed


class Paths(NamedTuple):
    """The number (0 to ``size``) of each distinct path of an audit, for the rows of five tables."""

    listing: Numbers
    references: Numbers
    segments: Numbers
    unread: Numbers
    known: Numbers
    size: int


class Resolved(NamedTuple):
    """A value for each reference (checkpoint and path). ``missing``: the file certainly does not
    exist. ``uncovered``: nobody knows, since it is below no root that was listed whole, or the
    checkpoint is younger than the listing. ``own``: below the directory of the checkpoint or its
    job.
    """

    checkpoint: Numbers
    path: Numbers
    bytes: Numbers
    segmented: Flags
    root: Numbers
    found: Flags
    missing: Flags
    uncovered: Flags
    own: Flags
    placed: Placed
    texts: pa.Array


def resolve(
    references: pa.Table,
    checkpoint: Numbers,
    paths: Paths,
    file_bytes: Numbers,
    roots: pa.Table,
    checkpoints: pa.Table,
) -> Resolved:
    texts = column(references, "path")
    at_root = np.full(len(texts), -1)
    audit_ids = column(references, "audit_id")
    for number, root in enumerate(roots.to_pylist()):
        below = arrays.flags(
            pc.and_(are_below(texts, root["root"]), pc.equal(audit_ids, root["audit_id"]))
        )
        at_root[below] = number
    places = placed(texts)
    unlisted = np.append(arrays.numbers_of(roots, "unlisted"), 0)[at_root]
    is_listed = arrays.known(file_bytes[paths.references])
    is_covered = (
        (at_root >= 0) & (unlisted == 0) & arrays.flags_of(checkpoints, "is_covered")[checkpoint]
    )
    home = column(checkpoints, "job_directory").take(pa.array(checkpoint))
    own = arrays.flags(pc.equal(places.job_directory, home))
    elsewhere = np.flatnonzero(~own)
    directories = column(checkpoints, "directory").take(pa.array(checkpoint[elsewhere])).to_pylist()
    for at, path, directory in zip(
        elsewhere, texts.take(pa.array(elsewhere)).to_pylist(), directories, strict=True
    ):
        own[at] = path.startswith(f"{directory.rstrip('/')}/")
    return Resolved(
        checkpoint=checkpoint,
        path=paths.references,
        bytes=arrays.numbers_of(references, "bytes"),
        segmented=arrays.flags_of(references, "segmented"),
        root=at_root,
        found=is_listed,
        missing=~is_listed & is_covered,
        uncovered=~is_listed & ~is_covered,
        own=own,
        placed=places,
        texts=texts,
    )


def live_segments(segments: pa.Table, paths: Paths) -> Numbers:
    """Bytes of each path's segments that retained checkpoints need; unknown if they need none."""
    rows = pa.table(
        {
            "path": paths.segments,
            "offset": column(segments, "offset_bytes"),
            "bytes": column(segments, "bytes"),
        }
    )
    distinct = rows.group_by(["path", "offset"]).aggregate([("bytes", "max")])
    at = arrays.numbers_of(distinct, "path")
    size = arrays.numbers_of(distinct, "bytes_max")
    sums = arrays.sums(at, size, paths.size)
    sums[~arrays.mark(at[arrays.known(size)], paths.size)] = arrays.UNKNOWN
    return sums
