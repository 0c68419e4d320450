"""What checkpoints uploaded: parsed ``_metadata`` → rows of ``checkpoint_upload``. RocksDB never
reuses a file number. So a file with a name of the compared snapshot was kept if its place is the
same, else uploaded again; a file with another name is new.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import arrow_schema, batch_from_rows, in_microseconds
from spark_jobs.fold.rows import Row, largest, rank
from spark_jobs.serving import CHECKPOINT_UPLOAD
from spark_jobs.transforms.grouped_batches import groups

SST = ".sst"
_VERSION = ("metadata_bytes", "metadata_modified", "reader_version")
_FILE = ("operator_id", "subtask", "kind", "local_name")
_READ = (
    "cluster",
    "metadata_path",
    "ordinal",
    "observed_at",
    *_VERSION,
    "path",
    *_FILE,
    "offset_bytes",
    "size_bytes",
)
REFERENCE = pa.schema(
    [(name, in_microseconds(TABLES["references"].schema.field(name).type)) for name in _READ]
)
WHOLE = pa.schema([REFERENCE.field(name) for name in ("cluster", "metadata_path")])
UPLOAD = arrow_schema(CHECKPOINT_UPLOAD)
_LARGEST = 2**63 - 1

Version = tuple[Any, ...]
Files = dict[tuple[Any, ...], tuple[str, int | None]]
"""Operator, subtask, kind and local name → which file, and its bytes."""


class Compared(NamedTuple):
    job_id: str
    checkpoint_id: int
    trigger_time: int
    directory: str
    compared_with: str


def file_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """RocksDB files, and rows that mark a ``_metadata`` as read to its end."""
    for batch in batches:
        is_file = pc.and_(pc.is_valid(batch["path"]), pc.ends_with(batch["local_name"], SST))
        yield batch.filter(pc.or_kleene(pc.equal(batch["ordinal"], 0), is_file))


def whole_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.filter(pc.equal(batch["ordinal"], 0)).select(WHOLE.names) for batch in batches)


def upload_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """``asked`` (comparisons of jobs), ``read`` (files read since the last run) and, after these of
    each cluster, ``references`` → a row for each comparison whose snapshots were both read, at
    least one since the last run.
    """
    uploads = None
    for batch in batches:
        for group in groups([batch], keys=1):
            if uploads is None or group.key[0] != uploads.cluster:
                if uploads:
                    yield batch_from_rows(uploads.rows(), UPLOAD)
                uploads = Uploads(group.key[0])
            for job in group.rows("asked"):
                uploads.compared.update(
                    dict.fromkeys(
                        Compared(job["job_id"], **comparison)
                        for comparison in job["comparisons"] or ()
                    )
                )
            uploads.read.update(_directory(row) for row in group.rows("read"))
            for row in group.rows("references"):
                uploads.take(row)
    if uploads:
        yield batch_from_rows(uploads.rows(), UPLOAD)


class Uploads:
    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.compared: dict[Compared, None] = {}
        self.read: set[str] = set()
        self._whole: dict[str, dict[Version, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._files: dict[tuple[str, Version], Files] = defaultdict(dict)

    @cached_property
    def _news(self) -> list[Compared]:
        return [row for row in self.compared if {row.directory, row.compared_with} & self.read]

    @cached_property
    def _wanted(self) -> set[str]:
        return {
            directory
            for compared in self._news
            for directory in (compared.directory, compared.compared_with)
        }

    def take(self, row: Row) -> None:
        if (directory := _directory(row)) not in self._wanted:
            return
        version = tuple(row[name] for name in _VERSION)
        if row["ordinal"] == 0:
            self._whole[directory][version].append(row["observed_at"])
        else:
            # File names in a checkpoint directory are random, so the name identifies the file in
            # any spelling of the path.
            file = row["path"].rsplit("/", 1)[-1] + (
                "" if row["offset_bytes"] is None else f"@{row['offset_bytes']}"
            )
            files, name = self._files[directory, version], tuple(row[part] for part in _FILE)
            before, size = files.get(name, (file, None))
            files[name] = max(file, before), largest(size, row["size_bytes"])

    def rows(self) -> Iterator[Row]:
        for compared in self._news:
            if compared.directory in self._whole and compared.compared_with in self._whole:
                mine, at = self._newest(compared.directory)
                theirs, their_at = self._newest(compared.compared_with)
                row = compared._asdict() | _bytes(mine, theirs)
                del row["directory"]
                yield row | {"cluster": self.cluster, "as_of": max(at, their_at)}

    def _newest(self, directory: str) -> tuple[Files, Any]:
        seen = self._whole[directory]
        newest = max(seen, key=lambda pair: (max(seen[pair]), rank(pair), min(seen[pair])))
        return self._files[directory, newest], min(seen[newest])


def _directory(row: Row) -> str:
    path: str = row["metadata_path"]
    return path.removesuffix("/_metadata")


def _bytes(mine: Files, theirs: Files) -> dict[str, int]:
    reported = {"kept_bytes": 0, "same_name_bytes": 0, "new_name_bytes": 0}
    for name, (file, size) in mine.items():
        their_file, their_size = (
            theirs.get(name, (None, None)) if None not in name else (None, None)
        )
        if size is None or (their_file is not None and their_size is None):
            continue
        # After a RocksDB was rebuilt, the size distinguishes files of equal number.
        same = their_file is not None and size == their_size
        if not same:
            reported["new_name_bytes"] += size
        else:
            reported["kept_bytes" if file == their_file else "same_name_bytes"] += size
    return {name: total if total <= _LARGEST else 0 for name, total in reported.items()}
