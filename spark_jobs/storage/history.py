"""What the audit before knew of referrers that are gone, and what the next one has to know."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from spark_jobs.storage.layout_columns import placed
from spark_jobs.storage.owners import JOB, root_around
from spark_jobs.storage.plain import Key, Row, by, key_of, keys


class Unread(NamedTuple):
    """Checkpoints (audit_id, metadata_path) that earlier references name and that were not read this time.

    ``gone``: they are not there any more. ``vanished``: and nobody saw them discarded, so that what they referred to is kept.
    """

    gone: set[Key]
    vanished: set[Key]


def unread(checkpoints: Iterable[Row], metadata: Iterable[Row], jobs: Iterable[Row], sole: Iterable[Row], roots: Sequence[Row]) -> Unread:
    """One may still be there where it was listed, or its root was not listed whole, or not at all.

    What a cluster says it discarded lay in directories it writes.
    """
    whole = [root for root in roots if root["unlisted"] == 0]
    listed = keys(metadata, "audit_id", "path")
    missed = sorted(keys(checkpoints, "audit_id", "metadata_path") - listed)
    gone = [(audit_id, path) for audit_id, path in missed if root_around(audit_id, path, whole)]
    where = placed(pa.array([path for _, path in gone], pa.string()))
    places = zip(gone, where.job_directory.to_pylist(), where.checkpoint_id.to_pylist(), strict=True)
    homes = by(sole, *JOB)
    discarded = {
        (job["audit_id"], home["job_directory"], end["checkpoint_id"])
        for job in jobs
        for end in job["checkpoints_ended"] or ()
        if end["discarded"]
        for home in homes.get(key_of(job, JOB), ())
    }
    return Unread(
        set(gone),
        {one for one, directory, number in places if None in (directory, number) or (one[0], directory, number) not in discarded},
    )
