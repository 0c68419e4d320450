"""Splits a backlog of new rows in the lake into slices, in the order of commits."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.paths import absolute_root


def oldest(
    lake: LakeReader, from_seq: Mapping[str, int], to_seq: Mapping[str, int], most_rows: int
) -> dict[str, int]:
    """The oldest slice: table → its last commit, ``to_seq`` if all rows are at most ``most_rows``.
    It has at least one commit, of any size.
    """
    waiting = []
    for table, last in to_seq.items():
        known = from_seq.get(table, 0)
        if last > known:
            rows = _rows_of_commits(lake, table, known, last)
            times = lake.commit_times(table, known)
            at = 0
            for seq in range(known + 1, last + 1):
                at = max(at, times.get(seq, 0))  # several clocks date commits
                waiting.append((at, seq, table, rows[seq]))
    reached, total = {table: from_seq.get(table, 0) for table in to_seq}, 0
    for _at, seq, table, brought in sorted(waiting):
        if total and total + brought > most_rows:
            break
        reached[table], total = max(reached[table], seq), total + brought
    return reached


def _rows_of_commits(lake: LakeReader, table: str, after: int, last: int) -> Counter[int]:
    counter: Counter[int] = Counter()
    for file in lake.files(table, after_seq=after, up_to_seq=last):
        if file.first_seq == file.last_seq and file.last_seq is not None:
            counter[file.last_seq] += file.rows
        elif lake.local_root is None:
            counter[min(file.last_seq or last, last)] += file.rows
        else:
            rows = ds.dataset([data_path(lake, table, file)], format="parquet")
            counter.update(counts(rows, "commit_seq", pc.field("commit_seq") > after))
    return counter


def counts(rows: ds.Dataset, column: str, condition: pc.Expression) -> Counter[Any]:
    counter: Counter[Any] = Counter()
    for batch in rows.scanner(
        columns=[column], filter=condition, batch_readahead=1, fragment_readahead=1
    ).to_batches():
        counter.update(
            {
                pair["values"]: pair["counts"]
                for pair in pc.value_counts(pa.chunked_array([batch[column]])).to_pylist()
            }
        )
    return counter


def data_path(lake: LakeReader, table: str, file: DataFile) -> str:
    """The Delta library percent-encodes the root; below it only ``date=`` folders lie."""
    return f"{absolute_root(lake.root)}/{table}/date={file.uri.rsplit('/date=', 1)[1]}"
