"""Snapshots that jobs want, over plain rows; what :mod:`spark_jobs.transforms.snapshots` gives, where the rules stand."""

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from spark_jobs.small.rows import Row
from spark_jobs.step_schemas import SNAPSHOT

_READ_BY_NOBODY = ""


def of_jobs(wanted: Iterable[tuple[str, str, Iterable[str]]], snapshots: Iterable[Row]) -> pa.Table:
    """``wanted``: cluster, job and the keys that it wants."""
    by_key: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for cluster, job_id, keys in wanted:
        for key in keys:
            by_key[key].append((cluster, job_id))
    found = []
    for row in snapshots:
        if row["metadata_path"] is None:
            continue
        directory = row["metadata_path"].removesuffix("/_metadata")
        keys = {row["job_id"], directory, directory.rpartition("/")[0]} - {None}
        jobs = {job for key in keys for job in by_key.get(key, ()) if row["cluster"] in (_READ_BY_NOBODY, job[0])}
        found += [{**row, "owner_id": row["job_id"], "cluster": cluster, "job_id": job_id} for cluster, job_id in jobs]
    return pa.Table.from_pylist(found, SNAPSHOT)
