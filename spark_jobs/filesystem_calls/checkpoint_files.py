"""The files of one checkpoint, by the handles of its ``_metadata``: which of them it wrote, and
which state is inline.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

WRITTEN, KEPT, UNKNOWN = 1, 0, -1
"""What a checkpoint did with a stream: wrote it, reused an earlier one's, or unknown."""
NO_SUBTASK = -1
"""Of state of the JobManager."""
STREAM = np.dtype(
    [
        ("bytes", np.int64),
        ("in_file", np.bool_),
        ("merged", np.bool_),
        ("incremental", np.bool_),
        ("written", np.int64),
        ("subtask", np.int64),
    ]
)
"""``in_file``: not within the ``_metadata``. ``merged``: a segment of a merged file.
``incremental``: a file of RocksDB.
"""
Streams = NDArray[Any]
"""An array of ``STREAM``."""
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
_NUMBER = re.compile(r"(\d{1,18})\.\w+")


@dataclass
class _Increment:
    """One incremental state: its uploads, which of these are private, and its shared files:
    number, bytes, position of the stream.
    """

    uploaded_bytes: int | None
    own_bytes: int = 0
    shared: list[tuple[int, int, int]] = field(default_factory=list)
    numbered: bool = True


def checkpoint_streams(rows: Iterable[Mapping[str, Any]], directory: str) -> Streams:
    """``rows``: all handles of one ``_metadata`` with ``COLUMNS``.

    ``directory``: of the checkpoint, ``…/chk-N``.
    """
    own = directory.rstrip("/").rpartition("/")[2]
    by_place: dict[Hashable, tuple[Any, ...]] = {}
    subtasks: dict[Hashable, int] = {}
    increments: dict[Hashable, _Increment] = {}
    for row in rows:
        path, size, kind = row["path"], row["size_bytes"], row["kind"]
        if size is None or (path is None and row["inline_at"] is None):
            continue
        key = (path, row["name"] or row["inline_at"] if path is None else row["offset_bytes"])
        # A stream may have several handles: channels of one subtask, or state that two operators
        # refer to.
        if key in by_place:
            continue
        of = (row["operator_id"], row["subtask"])
        if kind in _INCREMENTAL:
            state = increments.setdefault(
                (*of, row["handle_id"] or row["backend_id"]), _Increment(row["checkpointed_bytes"])
            )
            if kind == _SHARED:
                number = _NUMBER.fullmatch(row["local_name"] or "")
                state.numbered &= number is not None
                state.shared.append((int(number[1]) if number else 0, size, len(by_place)))
            else:
                state.own_bytes += size
        by_place[key] = (
            size,
            path is not None,
            row["offset_bytes"] is not None,
            kind in _OF_ROCKSDB,
            _is_written(kind, path, own),
            NO_SUBTASK if row["subtask"] is None else subtasks.setdefault(of, len(subtasks)),
        )
    streams = np.array(list(by_place.values()), STREAM)
    for state in increments.values():
        for position, written in _uploaded_files(state):
            streams["written"][position] = written
    return streams


def _is_written(kind: str, path: str | None, own: str) -> int:
    """Unshared streams are written again by each checkpoint, RocksDB's own files also to ``shared``
    (seen in 1.20 and 2.3). Those in the directory of another checkpoint were written by that one:
    their subtasks kept their state.
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
