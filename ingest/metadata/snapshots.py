"""Rows of the lake table ``snapshots``, one for each ``_metadata``, from rows of ``references``."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.records import Reference, Snapshot

LARGEST_BYTES = 2**63 - 1

_FILE = ("metadata_path", "metadata_bytes", "metadata_modified", "reader_version")
READ = (
    *_FILE,
    "ordinal",
    "job_id",
    "checkpoint_id",
    "format_version",
    "checkpoint_type",
    "state_bytes",
)


def snapshot(rows: Sequence[Reference]) -> Snapshot:
    return _snapshot_of_file(rows[-1], sum(row.state_bytes or 0 for row in rows))


def snapshots(
    batches: Iterable[pa.RecordBatch], extra_key: Sequence[str] = ()
) -> Iterator[Snapshot]:
    """``batches`` have the columns ``READ``, and each row once, in any order. A file without the
    row with ordinal 0 has no snapshot. ``extra_key``: columns that distinguish several readings of
    a file.
    """
    key = (*_FILE, *extra_key)
    state_bytes: dict[tuple[Any, ...], int] = {}
    files: dict[tuple[Any, ...], Reference] = {}
    for batch in batches:
        for *file, batch_bytes in _sums(batch, key):
            state_bytes[tuple(file)] = state_bytes.get(tuple(file), 0) + batch_bytes
        for row in batch.filter(pc.equal(batch["ordinal"], 0)).to_pylist():
            files[tuple(row[name] for name in key)] = Reference(
                **{name: row[name] for name in READ}
            )
    for file_key, row in files.items():
        yield _snapshot_of_file(row, state_bytes.get(file_key, 0))


def _sums(batch: pa.RecordBatch, key: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    low = pc.fill_null(pc.bit_wise_and(batch["state_bytes"], 0xFFFF_FFFF), 0)
    high = pc.fill_null(pc.shift_right(batch["state_bytes"], 32), 0)
    columns = {**{name: batch[name] for name in key}, "low": low, "high": high}
    for row in (
        pa.table(columns)
        .group_by(list(key))
        .aggregate([("low", "sum"), ("high", "sum")])
        .to_pylist()
    ):
        yield *(row[name] for name in key), row["low_sum"] + (row["high_sum"] << 32)


def _snapshot_of_file(row: Reference, state_bytes: int) -> Snapshot:
    kind = row.checkpoint_type
    return Snapshot(
        **{
            name: getattr(row, name)
            for name in (*_FILE, "job_id", "checkpoint_id", "format_version")
        },
        state_bytes=state_bytes if 0 <= state_bytes <= LARGEST_BYTES else None,
        # Savepoint, Terminate Savepoint, Suspend Savepoint; Checkpoint, Full Checkpoint.
        is_savepoint=None if kind is None else kind.endswith("Savepoint"),
    )
