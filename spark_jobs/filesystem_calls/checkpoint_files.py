"""The files of one checkpoint, by the handles of its ``_metadata``: which of them it wrote, and
which state is inline.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
WRITTEN, KEPT, UNKNOWN = 1, 0, -1
"""What a checkpoint did with a stream: wrote it, reused an earlier one's, or unknown."""
NOT_IN_FILE = -1
COLUMNS = (
    "kind",
    "operator_id",
    "subtask",
    "handle_id",
    "backend_id",
    "path",
    "offset_bytes",
    "size_bytes",
    "local_name",
    "checkpointed_bytes",
    "inline_at",
    "name",
)
_SHARED, _OF_ROCKSDB = "shared", ("shared", "private")
_INCREMENTAL = (*_OF_ROCKSDB, "meta")
_OF_CHANGELOG = ("stream", "other", "changelog")
_IN_FLIGHT = "channel-"
_NUMBER = re.compile(r"(\d{1,18})\.\w+")


@dataclass(frozen=True)
class CheckpointFiles:
    """Streams of state: ``bytes``, position among ``files`` (``NOT_IN_FILE``: within the
    ``_metadata``), whether others may share it, it is a segment of a merged file, a file of
    RocksDB, and this checkpoint wrote it. ``deleted_again``: how often one of its own files is
    deleted again, as files of in-flight data are.
    """

    metadata_bytes: int
    files: int
    bytes: Numbers
    file_of: Numbers
    shared: Flags
    merged: Flags
    incremental: Flags
    written: Numbers
    subtask: Numbers
    deleted_again: int

    @property
    def inline_bytes(self) -> int:
        return int(self.bytes[self.file_of == NOT_IN_FILE].sum())

    def written_file_bytes(self, *, unknown: bool) -> Numbers:
        """The bytes that the checkpoint wrote, by file; streams of unknown writer are included if
        ``unknown``.
        """
        mask = (self.file_of != NOT_IN_FILE) & (
            (self.written == WRITTEN) | (unknown & (self.written == UNKNOWN))
        )
        sizes = np.bincount(self.file_of[mask], self.bytes[mask], minlength=self.files).astype(
            np.int64
        )
        return sizes[np.bincount(self.file_of[mask], minlength=self.files) > 0]


@dataclass
class _Found:
    bytes: list[int] = field(default_factory=list)
    file_of: list[int] = field(default_factory=list)
    shared: list[bool] = field(default_factory=list)
    merged: list[bool] = field(default_factory=list)
    incremental: list[bool] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    subtask: list[int] = field(default_factory=list)


@dataclass
class _Increment:
    """One incremental state: its uploads, which of these are private, and its shared files by
    number.
    """

    uploaded_bytes: int | None
    own_bytes: int = 0
    shared: list[tuple[int, int, int]] = field(default_factory=list)
    """Number, bytes, position of the stream."""
    numbered: bool = True


def checkpoint_files(
    rows: Iterable[Mapping[str, Any]], directory: str, metadata_bytes: int
) -> CheckpointFiles:
    """``rows``: all handles of one ``_metadata`` with ``COLUMNS``.

    ``directory``: of the checkpoint, ``…/chk-N``.
    """
    own, counted = directory.rstrip("/").rpartition("/")[2], _Found()
    files: dict[str, int] = {}
    seen: set[Hashable] = set()
    subtasks: dict[Hashable, int] = {}
    increments: dict[Hashable, _Increment] = {}
    users: dict[str, set[Hashable]] = {}
    for row in rows:
        path, size = row["path"], row["size_bytes"]
        if size is None or (path is None and row["inline_at"] is None):
            continue
        key = (
            (path, row["offset_bytes"])
            if path is not None
            else (None, row["name"] or row["inline_at"])
        )
        kind, of = row["kind"], (row["operator_id"], row["subtask"])
        if path is not None and row["offset_bytes"] is None and kind.startswith(_IN_FLIGHT):
            users.setdefault(path, set()).add(of)
        if (
            key in seen
            # A stream may have several handles: channels of one subtask, or state that two
            # operators refer to.
        ):
            continue
        seen.add(key)
        position = len(counted.bytes)
        counted.bytes.append(size)
        counted.file_of.append(NOT_IN_FILE if path is None else files.setdefault(path, len(files)))
        counted.shared.append(kind == _SHARED)
        counted.merged.append(row["offset_bytes"] is not None)
        counted.incremental.append(kind in _OF_ROCKSDB)
        counted.written.append(_is_written(kind, path, own))
        counted.subtask.append(
            NOT_IN_FILE if row["subtask"] is None else subtasks.setdefault(of, len(subtasks))
        )
        if kind in _INCREMENTAL:
            state = increments.setdefault(
                (*of, row["handle_id"] or row["backend_id"]), _Increment(row["checkpointed_bytes"])
            )
            if kind == _SHARED:
                number = _NUMBER.fullmatch(row["local_name"] or "")
                state.numbered &= number is not None
                state.shared.append((int(number[1]) if number else 0, size, position))
            else:
                state.own_bytes += size
    for state in increments.values():
        for position, written in _uploaded_files(state):
            counted.written[position] = written
    return CheckpointFiles(
        metadata_bytes,
        len(files),
        np.array(counted.bytes, np.int64),
        np.array(counted.file_of, np.int64),
        np.array(counted.shared, np.bool_),
        np.array(counted.merged, np.bool_),
        np.array(counted.incremental, np.bool_),
        np.array(counted.written, np.int64),
        np.array(counted.subtask, np.int64),
        sum(len(of_file) - 1 for of_file in users.values()),
    )


def _is_written(kind: str, path: str | None, own: str) -> int:
    """Whether this checkpoint wrote the stream. Unshared streams are written again by each
    checkpoint, RocksDB's own files also to ``shared`` (seen in 1.20 and 2.3). Those in the
    directory of another checkpoint were written by that one: their subtasks kept their state.
    """
    if kind == _SHARED or kind.startswith(_OF_CHANGELOG):
        return UNKNOWN
    directory = (path or "").rpartition("/")[0].rpartition("/")[2]
    return KEPT if directory.startswith("chk-") and directory != own else WRITTEN


def _uploaded_files(state: _Increment) -> Iterable[tuple[int, int]]:
    """The uploaded files: those with the highest numbers, up to the uploaded bytes of the handle,
    since RocksDB numbers files in order. Before 1.15 the handle has no such bytes.
    """
    if state.uploaded_bytes is None or not state.numbered:
        return
    left, newest_first = state.uploaded_bytes - state.own_bytes, sorted(state.shared, reverse=True)
    uploaded = 0
    for _number, size, _position in newest_first:
        if left <= 0:
            break
        left -= size
        uploaded += 1
    if left == 0:
        for rank, (_number, _size, position) in enumerate(newest_first):
            yield position, WRITTEN if rank < uploaded else KEPT
