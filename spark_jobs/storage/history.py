"""Checkpoints of earlier audits that were not read again: which no longer exist, and which of them
Flink was not seen to discard.
"""

from collections.abc import Set
from typing import NamedTuple

import pyarrow as pa

from spark_jobs.arrow_schemas import schema
from spark_jobs.storage.layout_columns import placed, with_places
from spark_jobs.storage.owners import (
    CLOCKS_APART_S,
    JOB,
    is_of_time,
    is_surely_listed,
    is_whole_but_links,
)
from spark_jobs.storage.plain import Key, Row, RowList, Rows, by, key_of, keys, table_of

_PATHS = schema(audit_id="text", path="text")


class Unread(NamedTuple):
    """(audit_id, metadata_path) of earlier referrers that are ``gone``. ``vanished``: those of them
    not seen to be discarded, so their files are kept.
    """

    gone: set[Key]
    vanished: set[Key]


def unread(
    checkpoints: Rows,
    metadata: Rows,
    read: Set[Key],
    known: Rows,
    jobs: Rows,
    sole_owners: Rows,
    roots: RowList,
) -> Unread:
    """``checkpoints``: earlier referrers; if this audit ``read`` a checkpoint at the same path,
    that checkpoint replaced it. A checkpoint that is not listed is gone if the listing surely
    covered its path (``is_surely_listed``). A cluster reports discarded checkpoints by number
    alone; its directory is that which only the job writes (``sole_owners``). Numbers repeat under
    the same id, so the time must fit too. ``known``: earlier _metadata with modification times;
    without one, nothing proves that a checkpoint was discarded.
    """
    whole = by((root for root in roots if is_whole_but_links(root)), "audit_id")
    listed = keys(metadata, "audit_id", "path")
    earlier = keys(checkpoints, "audit_id", "metadata_path")
    gone = sorted(
        {
            (audit_id, path)
            for audit_id, path in earlier - listed - read
            if any(is_surely_listed(path, root) for root in whole.get((audit_id,), ()))
        }
        | (earlier & read)
    )
    where = placed(pa.array([path for _, path in gone], pa.string()))
    places = zip(
        gone, where.job_directory.to_pylist(), where.checkpoint_id.to_pylist(), strict=True
    )
    homes = by(sole_owners, *JOB)
    discarded = by(
        (
            end | {name: home[name] for name in ("audit_id", "job_directory")}
            for job in jobs
            for home in homes.get(key_of(job, JOB), ())
            for end in job["checkpoints_ended"] or ()
            if end["discarded"]
        ),
        "audit_id",
        "job_directory",
        "checkpoint_id",
    )
    known_files = by(known, "audit_id", "path")

    def was_discarded(checkpoint: Key, directory: str | None, number: int | None) -> bool:
        rows = known_files.get(checkpoint, ())
        ends = discarded.get((checkpoint[0], directory, number), ())
        return bool(ends and rows) and all(
            any(is_of_time(row["modified"], end, CLOCKS_APART_S) for end in ends) for row in rows
        )

    return Unread(
        set(gone),
        {
            checkpoint
            for checkpoint, directory, number in places
            if not was_discarded(checkpoint, directory, number)
        },
    )


def perhaps_elsewhere(checkpoints: Rows, unread: Unread, vanished: Rows) -> list[Row]:
    """Checkpoints that may still exist somewhere, with ``path`` and ``Placed`` columns: those not
    gone, and those that vanished now or before.
    """
    names = "audit_id", "metadata_path"
    existing = (keys(checkpoints, *names) - unread.gone) | unread.vanished | keys(vanished, *names)
    rows = [dict(zip(("audit_id", "path"), key, strict=True)) for key in sorted(existing)]
    return list(with_places(table_of(rows, _PATHS)).to_pylist())
