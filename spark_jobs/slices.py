"""Cuts the oldest slice from a backlog of the lake, in order of commits."""

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
    """Table → last commit of the ``most_rows`` oldest rows, or of one commit of any size."""
    commits = []
    for table, last_seq in to_seq.items():
        after_seq = from_seq.get(table, 0)
        if last_seq > after_seq:
            rows_by_commit = _rows_of_commits(lake, table, after_seq, last_seq)
            times = lake.commit_times(table, after_seq)
            at = 0
            for seq in range(after_seq + 1, last_seq + 1):
                # Clocks differ, but commits of a table are in order.
                at = max(at, times.get(seq, 0))
                commits.append((at, seq, table, rows_by_commit[seq]))
    slice_end, total = {table: from_seq.get(table, 0) for table in to_seq}, 0
    for _at, seq, table, rows in sorted(commits):
        if total and total + rows > most_rows:
            break
        slice_end[table], total = max(slice_end[table], seq), total + rows
    return slice_end


def _rows_of_commits(lake: LakeReader, table: str, after: int, last: int) -> Counter[int]:
    """Rows by commit; remote files with several commits are estimated."""
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
    """Delta percent-encodes the root in ``file.uri``; below are only ``date=`` folders."""
    return f"{absolute_root(lake.root)}/{table}/date={file.uri.rsplit('/date=', 1)[1]}"
