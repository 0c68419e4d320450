"""Two checkpoints beside each other: files both refer to, and those that only one does."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ingest.metadata.files import MetadataFile
from webapp.storage.xray import xray_reader
from webapp.storage.xray.measures import total


@dataclass(frozen=True)
class MetadataComparison:
    """``new`` are physical files of the first alone, ``dropped`` of the second alone. Where either
    refers to segments of merged files, a file may be shared while no segment of it is: ``segments``
    then counts the segments themselves. Bytes are those referred to.
    """

    shared_files: int
    shared_bytes: int
    new_files: int
    new_bytes: int
    dropped_files: int
    dropped_bytes: int
    segments: "Segments | None" = None


@dataclass(frozen=True)
class Segments:
    """The same of segments: a part of one physical file, from its offset on."""

    shared: int
    shared_bytes: int
    new: int
    new_bytes: int
    dropped: int
    dropped_bytes: int


def compared(file: MetadataFile, other: MetadataFile) -> MetadataComparison:
    """Raises what :func:`webapp.storage.xray.xray_reader.paths` raises."""
    ours, theirs = xray_reader.paths(file), xray_reader.paths(other)
    both = pc.is_in(ours["path"], value_set=pc.unique(theirs["path"]))
    theirs_alone = pc.invert(pc.is_in(theirs["path"], value_set=pc.unique(ours["path"])))
    return MetadataComparison(
        *_counts(ours.filter(both)),
        *_counts(ours.filter(pc.invert(both))),
        *_counts(theirs.filter(theirs_alone)),
        segments=_segments(xray_reader.segments(file), xray_reader.segments(other)),
    )


def _segments(
    ours: dict[tuple[str, int], int], theirs: dict[tuple[str, int], int]
) -> Segments | None:
    if not ours and not theirs:
        return None
    both = ours.keys() & theirs.keys()
    new = ours.keys() - theirs.keys()
    dropped = theirs.keys() - ours.keys()
    sizes = [(ours, both), (ours, new), (theirs, dropped)]
    return Segments(
        *(figure for of, keys in sizes for figure in (len(keys), sum(of[key] for key in keys)))
    )


def _counts(files: pa.Table) -> tuple[int, int]:
    return files.num_rows, total(files["bytes"])
