"""Files that a checkpoint needs for a restore, including files of other jobs."""

from collections.abc import Iterable
from dataclasses import dataclass

from ingest.errors import Refused
from ingest.metadata.handles import handles
from ingest.metadata.pieces import Piece
from ingest.uris import Spellings, canonical, is_below

MOST_FILES = 2_000_000


@dataclass(frozen=True, slots=True)
class Need:
    """``whole``: the file has ``bytes``; else the last needed segment ends there: it may grow."""

    bytes: int
    whole: bool


def needed_files(pieces: Iterable[Piece], directory: str, spellings: Spellings) -> dict[str, Need]:
    """Canonical path → need. ``directory``: canonical, of the _metadata. Raises
    MetadataError, BadUri, or Refused if handles contradict each other.
    """
    needs: dict[str, Need] = {}
    for handle in handles(pieces):
        stream = handle.stream
        if stream is None or stream.path is None:
            continue
        path = canonical(stream.path, spellings)
        if stream.path != stream.written_path and not is_below(path, directory):
            raise Refused(
                f"The relative path {stream.written_path!r} leads out of {directory}: this "
                "checkpoint cannot be moved."
            )
        is_segment = stream.offset is not None
        needs[path] = _join_needs(
            path, needs.get(path), Need((stream.offset or 0) + stream.bytes, not is_segment)
        )
        if len(needs) > MOST_FILES:
            raise Refused(
                f"{directory} needs more than {MOST_FILES:,} files; copy it by other means, and "
                "merge its files."
            )
    return needs


def _join_needs(path: str, known: Need | None, other: Need) -> Need:
    if known is None:
        return other
    if known.whole and other.whole:
        if known != other:
            raise Refused(
                f"The _metadata says that {path} has {known.bytes:,} bytes, and {other.bytes:,}: "
                "it is not copied."
            )
        return known
    whole = next((need for need in (known, other) if need.whole), None)
    if whole and max(known.bytes, other.bytes) > whole.bytes:
        raise Refused(f"The _metadata names a segment beyond the end of {path}: it is not copied.")
    return whole or Need(max(known.bytes, other.bytes), False)
