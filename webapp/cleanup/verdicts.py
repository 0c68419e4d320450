"""Streams the verdicts of an audit from Parquet parts sorted by root and path."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import fsspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.parquet_stream import ParquetStream
from webapp.cleanup.entries import SCHEMA, VERDICT_COLUMNS
from webapp.cleanup.errors import PlanRefused
from webapp.storage.verdict_files import sorted_parts

BATCH_ROWS = 20_000

_VERDICT_SCHEMA = pa.schema([SCHEMA.field(name) for name in VERDICT_COLUMNS])


class VerdictKey(NamedTuple):
    """Sort key of the parts. Text is compared as UTF-8 bytes, as Spark and Parquet do."""

    root: str
    path: str


def batches(files: Sequence[str], audit_id: str | None = None) -> Iterator[pa.RecordBatch]:
    """Rows of one audit with the columns of a plan, in order; ``files`` may have any order. Raises
    :class:`PlanRefused` if the rows are not sorted.
    """
    columns = VERDICT_COLUMNS if audit_id is None else [*VERDICT_COLUMNS, "audit_id"]
    last: VerdictKey | None = None
    for file in sorted_parts(files):
        with fsspec.open(file, "rb") as stream:
            for batch in ParquetStream(stream).iter_batches(BATCH_ROWS, columns=columns):
                rows = _verdict_rows(batch, audit_id)
                if not rows.num_rows:
                    continue
                first = key_at(rows, 0)
                if (last is not None and first < last) or not _is_sorted(rows):
                    raise PlanRefused(
                        f"The audit's verdicts in {file} are not sorted by root and path; run the "
                        "audit again."
                    )
                last = key_at(rows, rows.num_rows - 1)
                yield rows


def key_at(rows: pa.RecordBatch | pa.Table, index: int) -> VerdictKey:
    return VerdictKey(rows.column("root")[index].as_py(), rows.column("path")[index].as_py())


class MergedVerdicts:
    """Finds the verdicts of sorted paths. Reads each part once for all calls."""

    def __init__(self, files: Sequence[str], audit_id: str | None = None) -> None:
        self._source = batches(files, audit_id)
        self._ahead: pa.RecordBatch | None = None

    def of(self, root: str, paths: Sequence[str]) -> list[dict[str, Any]]:
        """Rows of these sorted paths of one root. Calls must follow the order of the parts."""
        rows: list[dict[str, Any]] = []
        path_array = pa.array(paths, pa.string())
        first, last = VerdictKey(root, paths[0]), VerdictKey(root, paths[-1])
        while (batch := self._next()) is not None:
            if key_at(batch, batch.num_rows - 1) < first:
                self._ahead = None
                continue
            if key_at(batch, 0) > last:
                break
            rows += batch.filter(
                pc.and_(pc.equal(batch["root"], root), pc.is_in(batch["path"], path_array))
            ).to_pylist()
            if key_at(batch, batch.num_rows - 1) > last:
                break
            self._ahead = None
        return rows

    def _next(self) -> pa.RecordBatch | None:
        if self._ahead is None:
            self._ahead = next(self._source, None)
        return self._ahead


def _verdict_rows(batch: pa.RecordBatch, audit_id: str | None) -> pa.RecordBatch:
    if audit_id is not None:
        batch = batch.filter(pc.equal(batch["audit_id"], audit_id))
    # Spark writes microseconds, listings have milliseconds. Cutting makes no file newer.
    return batch.select(VERDICT_COLUMNS).cast(_VERDICT_SCHEMA, safe=False)


def _is_sorted(rows: pa.RecordBatch) -> bool:
    if rows.num_rows < 2:
        return True
    roots, paths = rows["root"], rows["path"]
    roots_before, roots_after = roots[:-1], roots[1:]
    is_ascending = pc.or_(
        pc.less(roots_before, roots_after),
        pc.and_(pc.equal(roots_before, roots_after), pc.less_equal(paths[:-1], paths[1:])),
    )
    return pc.all(is_ascending).as_py() is True
