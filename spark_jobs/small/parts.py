"""Splits clusters into groups, so that a process holds only a few."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ingest.parquet_stream import open_parquet
from spark_jobs.manifest import Manifest
from spark_jobs.run_files import EXECUTIONS, JOB_STATE
from spark_jobs.small.rows import SmallLake

ROWS_OF_A_REMEMBERED_JOB = 4


def cluster_groups(
    lake: SmallLake, after: Mapping[str, int], previous: Manifest | None, most_rows: int
) -> Iterator[tuple[str, ...] | None]:
    """Groups of cluster names of at most ``most_rows`` rows; None means all clusters. A larger
    cluster is its own group: the collector bounds its rows per commit.
    """
    sizes = lake.new_rows_of_clusters(after)
    for name, weight in ((JOB_STATE, ROWS_OF_A_REMEMBERED_JOB), (EXECUTIONS, 1)):
        for cluster, rows in _previous_counts(previous, name).items():
            sizes[cluster] += weight * rows
    if sum(sizes.values()) <= most_rows:
        yield None
        return
    group: list[str] = []
    rows = 0
    for cluster, size in sorted(sizes.items()):
        if group and rows + size > most_rows:
            yield tuple(group)
            group, rows = [], 0
        group.append(cluster)
        rows += size
    yield tuple(group)


def _previous_counts(previous: Manifest | None, name: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in previous.state_files(name) if previous else ():
        with open_parquet(file) as parquet:
            for batch in parquet.iter_batches(columns=["cluster"]):
                counts.update(batch["cluster"].to_pylist())
    return counts
