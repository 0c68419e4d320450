"""What checkpoints uploaded: parsed _metadata → ``checkpoint_upload``. A RocksDB numbers
its files. A file whose name and size the compared snapshot has too was kept if it is the same
stored file, else uploaded again. Other files are new.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import Batches, arrow_schema, batch_from_rows, fields_of
from spark_jobs.fold.rows import Row, largest, rank
from spark_jobs.serving import CHECKPOINT_UPLOAD
from spark_jobs.transforms.grouped_batches import groups

SST = ".sst"
_VERSION = ("metadata_bytes", "metadata_modified", "reader_version")
_FILE = ("operator_id", "subtask", "kind", "local_name")
_COLUMNS = (
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
REFERENCE = fields_of(TABLES["references"].schema, *_COLUMNS)
WHOLE = fields_of(REFERENCE, "cluster", "metadata_path")
UPLOAD = arrow_schema(CHECKPOINT_UPLOAD)
_LARGEST = 2**63 - 1

Version = tuple[Any, ...]
Files = dict[tuple[Any, ...], tuple[str, int | None]]
"""(operator, subtask, kind, local name) → (name of the stored file, its bytes)."""


class Comparison(NamedTuple):
    job_id: str
    checkpoint_id: int
    trigger_time: int
    directory: str
    compared_with: str


def file_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """RocksDB files, and the row (ordinal 0) of each _metadata read to its end."""
    for batch in batches:
        is_file = pc.and_(pc.is_valid(batch["path"]), pc.ends_with(batch["local_name"], SST))
        yield batch.filter(pc.or_kleene(pc.equal(batch["ordinal"], 0), is_file))


def whole_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    return (batch.filter(pc.equal(batch["ordinal"], 0)).select(WHOLE.names) for batch in batches)


def upload_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """A row for each comparison of two snapshots that were read, at least one since the last run.
    ``batches``: of each cluster its ``needs`` (comparisons), ``new_files`` (read since the last
    run) and ``references``, in this order.
    """
    uploads = None
    for batch in batches:
        for group in groups([batch], keys=1):
            if uploads is None or group.key[0] != uploads.cluster:
                if uploads:
                    yield batch_from_rows(uploads.rows(), UPLOAD)
                uploads = Uploads(group.key[0])
            for job in group.rows("needs"):
                for comparison in job["comparisons"] or ():
                    uploads.comparisons[Comparison(job["job_id"], **comparison)] = None
            uploads.new_directories.update(_directory(row) for row in group.rows("new_files"))
            for row in group.rows("references"):
                uploads.take(row)
    if uploads:
        yield batch_from_rows(uploads.rows(), UPLOAD)


class Uploads:
    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.comparisons: dict[Comparison, None] = {}
        self.new_directories: set[str] = set()
        self._read_at: dict[str, dict[Version, list[Any]]] = defaultdict(lambda: defaultdict(list))
        """Directory → version of its ``_metadata`` → when this version was read to its end."""
        self._files: dict[tuple[str, Version], Files] = defaultdict(dict)

    @cached_property
    def _new_comparisons(self) -> list[Comparison]:
        return [
            comparison
            for comparison in self.comparisons
            if {comparison.directory, comparison.compared_with} & self.new_directories
        ]

    @cached_property
    def _needed_directories(self) -> set[str]:
        return {
            directory
            for comparison in self._new_comparisons
            for directory in (comparison.directory, comparison.compared_with)
        }

    def take(self, row: Row) -> None:
        directory = _directory(row)
        if directory not in self._needed_directories:
            return
        version = tuple(row[name] for name in _VERSION)
        if row["ordinal"] == 0:
            self._read_at[directory][version].append(row["observed_at"])
        else:
            # File names in a checkpoint directory are random, so the name identifies the file in
            # any spelling of the path.
            file = row["path"].rsplit("/", 1)[-1] + (
                "" if row["offset_bytes"] is None else f"@{row['offset_bytes']}"
            )
            files, name = self._files[directory, version], tuple(row[part] for part in _FILE)
            previous_file, size = files.get(name, (file, None))
            files[name] = max(file, previous_file), largest(size, row["size_bytes"])

    def rows(self) -> Iterator[Row]:
        for comparison in self._new_comparisons:
            directory, compared = comparison.directory, comparison.compared_with
            if directory in self._read_at and compared in self._read_at:
                files, read_at = self._newest(directory)
                compared_files, compared_read_at = self._newest(compared)
                row = comparison._asdict() | _bytes(files, compared_files)
                del row["directory"]
                yield row | {"cluster": self.cluster, "as_of": max(read_at, compared_read_at)}

    def _newest(self, directory: str) -> tuple[Files, Any]:
        """Files of a ``_metadata``'s newest version, and when this was first read."""
        read_at = self._read_at[directory]

        def order(version: Version) -> Any:
            return max(read_at[version]), rank(version), min(read_at[version])

        newest = max(read_at, key=order)
        return self._files[directory, newest], min(read_at[newest])


def _directory(row: Row) -> str:
    path: str = row["metadata_path"]
    return path.removesuffix("/_metadata")


def _bytes(files: Files, other_files: Files) -> dict[str, int]:
    sums = {"kept_bytes": 0, "same_name_bytes": 0, "new_name_bytes": 0}
    for name, (file, size) in files.items():
        other_file, other_size = None, None
        if None not in name:  # without a subtask or operator, files cannot be matched
            other_file, other_size = other_files.get(name, (None, None))
        if size is None or (other_file is not None and other_size is None):
            continue
        # After a RocksDB was rebuilt, the size distinguishes files of equal number.
        if other_file is None or size != other_size:
            sums["new_name_bytes"] += size
        else:
            sums["kept_bytes" if file == other_file else "same_name_bytes"] += size
    return {name: total if total <= _LARGEST else 0 for name, total in sums.items()}
