"""Two checkpoints beside each other: files both refer to, and those that only one does."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ingest.metadata.files import MetadataFile
from webapp.storage.xray import reading
from webapp.storage.xray.measures import total


@dataclass(frozen=True)
class Comparison:
    """``new`` are files of the first alone, ``dropped`` of the second alone. Bytes as the first, else the second, refers to them."""

    shared_files: int
    shared_bytes: int
    new_files: int
    new_bytes: int
    dropped_files: int
    dropped_bytes: int


def compared(file: MetadataFile, other: MetadataFile) -> Comparison:
    """Raises what :func:`webapp.storage.xray.reading.paths` raises."""
    ours, theirs = reading.paths(file), reading.paths(other)
    both = pc.is_in(ours["path"], value_set=pc.unique(theirs["path"]))
    theirs_alone = pc.invert(pc.is_in(theirs["path"], value_set=pc.unique(ours["path"])))
    return Comparison(*_counts(ours.filter(both)), *_counts(ours.filter(pc.invert(both))), *_counts(theirs.filter(theirs_alone)))


def _counts(files: pa.Table) -> tuple[int, int]:
    return files.num_rows, total(files["bytes"])
