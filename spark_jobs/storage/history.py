"""Referrers that are gone: from the previous audit, and for the next one."""

from collections.abc import Iterable, Sequence, Set
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
from spark_jobs.storage.plain import Key, Row, by, key_of, keys, table_of

_PATHS = schema(audit_id="text", path="text")


class Unread(NamedTuple):
    """(audit_id, metadata_path) of earlier references that were not read this time. ``gone``: they
    no longer exist. ``vanished``: those of them that were not seen to be discarded, so their files
    are kept.
    """

    gone: set[Key]
    vanished: set[Key]


def unread(
    checkpoints: Iterable[Row],
    metadata: Iterable[Row],
    read: Set[Key],
    known: Iterable[Row],
    jobs: Iterable[Row],
    sole: Iterable[Row],
    roots: Sequence[Row],
) -> Unread:
    """One may still be there if it was listed, or if its root was not listed whole (but for links
    that it does not lie behind), or not at all. Where one was ``read`` that does not name the same
    files, it took the place of one that is gone.

    What a cluster says it discarded lay in directories it writes. Numbers repeat where a job starts
    again under its id, so what an audit read has to be of the time of what was discarded. ``known``
    says when those that are gone were written; without it nothing proves that one was discarded.
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
    homes = by(sole, *JOB)
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
    written = by(known, "audit_id", "path")

    def was_discarded(checkpoint_key: Key, directory: str | None, number: int | None) -> bool:
        listed = written.get(checkpoint_key, ())
        ends = discarded.get((checkpoint_key[0], directory, number), ())
        return bool(ends and listed) and all(
            any(is_of_time(row["modified"], end, CLOCKS_APART_S) for end in ends) for row in listed
        )

    return Unread(
        set(gone),
        {pair for pair, directory, number in places if not was_discarded(pair, directory, number)},
    )


def elsewhere(checkpoints: Iterable[Row], unread: Unread, vanished: Iterable[Row]) -> list[Row]:
    """Checkpoints that may still lie somewhere, with ``path`` and ``Placed`` columns: those not
    read this time, and those gone without having been seen discarded, now or before (``vanished``).
    """
    names = "audit_id", "metadata_path"
    doubted = (keys(checkpoints, *names) - unread.gone) | unread.vanished | keys(vanished, *names)
    rows = [dict(zip(("audit_id", "path"), pair, strict=True)) for pair in sorted(doubted)]
    placed_rows: list[Row] = with_places(table_of(rows, _PATHS)).to_pylist()
    return placed_rows
