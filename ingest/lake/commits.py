import contextlib
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from ingest.errors import Refused
from ingest.lake.damage import LakeDamaged
from ingest.lake.news import ROUTINE, has_news
from ingest.lake.reader import LakeReader
from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import Table, missing_columns, with_dropped_columns
from ingest.records import Observed, Record

GIVE_UP_AFTER_S = 120
T = TypeVar("T")


def append(
    lake: LakeReader, observed: Iterable[Observed], tables: Mapping[str, Table]
) -> dict[str, int]:
    """One commit per table that has rows; returns table name → version. Rows may repeat: readers
    drop duplicates by the table's identity. Raises the storage's error after two minutes, and
    ``LakeDamaged`` for a damaged table, after all other tables are written.
    """
    versions: dict[str, int] = {}
    damage: LakeDamaged | None = None
    for name, rows in group_by_table(observed).items():
        table = tables[name]
        try:
            versions[table.name] = _append(lake, table, rows)
        except LakeDamaged as error:
            damage = damage or error
    if damage:
        raise damage
    return versions


@contextlib.contextmanager
def staged_commit(lake: LakeReader, table: Table) -> Iterator[tuple[DeltaTable, int]]:
    """Yields (table, version of the next commit), which a writer puts into its rows."""
    with _write_lock(lake, table):
        delta = _open(lake, table)
        yield delta, delta.version() + 1


def commit(lake: LakeReader, table: Table, write: Callable[[DeltaTable, int], T]) -> T:
    """What ``write`` returns for a ``staged_commit``. It is tried again for two minutes if another
    writer commits at the same time.
    """

    def attempt() -> T:
        with staged_commit(lake, table) as (delta, version):
            return write(delta, version)

    retrying = Retrying(
        retry=retry_if_exception_type(CommitFailedError),
        wait=wait_random_exponential(multiplier=0.02, max=1),
        stop=stop_after_delay(GIVE_UP_AFTER_S),
        reraise=True,
    )
    return retrying(attempt)


def write_rows(
    delta: DeltaTable,
    rows: pa.Table | pa.RecordBatchReader,
    *,
    mode: Literal["append", "overwrite"] = "append",
    **properties: Any,
) -> None:
    """Within ``commit``, which writes again instead of committing the same rows later: they have
    the version of their commit. ``properties``: of the commit.
    """
    write_deltalake(
        delta,
        rows,
        mode=mode,
        writer_properties=WriterProperties(compression="ZSTD"),
        commit_properties=CommitProperties(max_commit_retries=0, **properties),
    )


def _append(lake: LakeReader, table: Table, rows: Sequence[tuple[Observed, Record]]) -> int:
    metadata = None if has_news(record for _, record in rows) else {ROUTINE: "true"}

    def write(delta: DeltaTable, version: int) -> int:
        arrow_rows = with_dropped_columns(to_arrow(table, rows, version), delta)
        write_rows(delta, arrow_rows, custom_metadata=metadata)
        return version

    return commit(lake, table, write)


def _open(lake: LakeReader, table: Table) -> DeltaTable:
    delta = lake.open_or_none(table)
    if delta is not None:
        if missing := missing_columns(delta, table):
            delta.alter.add_columns(missing)
        return delta
    if lake.local_root:
        lake.local_root.mkdir(parents=True, exist_ok=True)
    return DeltaTable.create(
        lake.uri(table),
        table.schema,
        mode="ignore",
        partition_by=["date"],
        description=table.row,
        # No bounds for other columns: those of wide arrays would make the log larger than the data.
        configuration={"delta.dataSkippingStatsColumns": ",".join(_columns_with_bounds(table))},
        storage_options=dict(lake.storage_options) or None,
    )


@contextlib.contextmanager
def _write_lock(lake: LakeReader, table: Table) -> Iterator[None]:
    root = lake.local_root
    if root is None:
        yield
        return
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(
            root / f".{table.name.replace('/', '-')}.lock", os.O_CREAT | os.O_RDWR, 0o644
        )
    except OSError as error:
        raise Refused(
            f"The lake at {root} cannot be written ({error.strerror}); check WEIR_HOME or "
            "WEIR_LAKE_ROOT."
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _columns_with_bounds(table: Table) -> list[str]:
    names = ["commit_seq", table.time_column, "observed_at", "cluster"]
    names += [
        name for name in ("job_id", "checkpoint_id", "process") if name in table.columns.names
    ]
    return list(dict.fromkeys(names))
