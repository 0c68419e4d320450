"""A raw lake of a large fleet: the rows of one cluster are made, those of all others are copies
under other names.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, WriterProperties, write_deltalake

from ingest.lake.commits import staged_commit
from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.store import Lake
from ingest.lake.tables import TABLES
from tests.bench.generated_fleet import JOBS_OF_A_CLUSTER, Fleet

CLUSTER = 0xFEE1DEAD
"""Number of the cluster that is copied: eight hex digits that nothing else holds."""
COMMITS = 10
"""For each table and minute; so many shards collect a fleet of thousands of clusters."""
JOBS_OF_HISTORY = 2


def append_history(lake: Lake, fleet: Fleet, hours: int) -> None:
    """One commit an hour for each table, of a few jobs: what a run has to leave aside."""
    for hour in range(hours):
        lake.append(
            [read for job in range(JOBS_OF_HISTORY) for read in fleet.of_job(0, job, 60 * hour)]
        )


def append_minute(lake: Lake, fleet: Fleet, number: int) -> None:
    """A minute of all jobs, in some commits of whole clusters for each table."""
    clusters, remainder = divmod(fleet.jobs, JOBS_OF_A_CLUSTER)
    assert not remainder, "clusters are copied whole"
    observed = [
        read for job in range(JOBS_OF_A_CLUSTER) for read in fleet.of_job(CLUSTER, job, number)
    ]
    step = -(-clusters // COMMITS)
    for name, rows in group_by_table(observed).items():
        one = to_arrow(TABLES[name], rows, 0).combine_chunks()
        for first in range(0, clusters, step):
            _commit(lake, name, one, range(first, min(first + step, clusters)))


def _commit(lake: Lake, name: str, one: pa.Table, clusters: range) -> None:
    with staged_commit(lake, TABLES[name]) as (delta, version):
        stamped = one.set_column(
            one.schema.get_field_index("commit_seq"),
            "commit_seq",
            pa.repeat(pa.scalar(version), len(one)),
        )
        write_deltalake(
            delta,
            pa.concat_tables(_of_cluster(stamped, cluster) for cluster in clusters),
            mode="append",
            writer_properties=WriterProperties(compression="ZSTD"),
            commit_properties=CommitProperties(max_commit_retries=0),
        )


def _of_cluster(rows: pa.Table, cluster: int) -> pa.Table:
    return pa.table(list(_renamed(rows, cluster)), schema=rows.schema)


def _renamed(rows: pa.Table, cluster: int) -> Iterator[pa.Array]:
    for column in rows.columns:
        yield _with_number(pa.concat_arrays(column.chunks), cluster)


def _with_number(values: pa.Array, cluster: int) -> pa.Array:
    """Texts, also those of nested rows, under the number of another cluster."""
    if pa.types.is_string(values.type):
        return pc.replace_substring(values, f"{CLUSTER:08x}", f"{cluster:08x}")
    if pa.types.is_struct(values.type):
        return pa.StructArray.from_arrays(
            [_with_number(child, cluster) for child in values.flatten()], fields=list(values.type)
        )
    if pa.types.is_list(values.type) and pa.types.is_struct(values.type.value_type):
        return pa.ListArray.from_arrays(
            values.offsets, _with_number(values.values, cluster), type=values.type
        )
    return values
