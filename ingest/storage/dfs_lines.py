"""What ``hdfs dfs -ls -R`` prints, as batches of columns: permissions, replication, owner, group,
size, date, time, path; no header.

Times are minutes of the clock of whoever asked, without a zone: they are taken for UTC. Directories
have ``-`` for their replication.
"""

import re
from collections.abc import Iterator

import fsspec
import pyarrow as pa

from ingest.storage.roots import local_path

COLUMNS = ("permission", "replication", "bytes", "modified", "path")
_LINE = re.compile(
    r"([-dl][-rwxsStT]{9}[+.]?) +(\d+|-) +\S+ +\S+ +(\d+) +(\d{4}-\d\d-\d\d \d\d:\d\d) (.+)"
)
_FOUND = re.compile(r"Found \d+ items?$")
LINES_A_BATCH = 8_192


def is_line(first: str) -> bool:
    """Without ``-R`` each directory begins with how many items it has."""
    line = first.rstrip("\r\n")
    return bool(_LINE.fullmatch(line) or _FOUND.match(line))


def batches(file: str) -> Iterator[pa.RecordBatch]:
    """A line that is none of a listing comes with a path and without a size, so that it is
    reported.
    """
    rows: list[tuple[str | None, ...]] = []
    with fsspec.open(
        local_path(file), "rt", compression="infer", encoding="utf-8", newline=""
    ) as stream:
        for line in stream:
            text = line.rstrip("\r\n")
            if not text or _FOUND.match(text):
                continue
            match = _LINE.fullmatch(text)
            rows.append(match.groups() if match else ("-", None, None, None, text[:200]))
            if len(rows) == LINES_A_BATCH:
                yield _batch(rows)
                rows = []
    yield _batch(rows)


def _batch(rows: list[tuple[str | None, ...]]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array([row[place] for row in rows], pa.string()) for place in range(len(COLUMNS))],
        names=list(COLUMNS),
    )
