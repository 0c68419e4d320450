"""The fast path for runs of plain files in incremental state, which are nearly all bytes of a large
``_metadata``. An entry is::

    u16 L | L bytes local name | u8 2 (a file) | i64 size | u16 P | P bytes path

Entries of a run have the same L and P. They stay bytes until columns are needed. Another entry
(other lengths, non-ASCII, other handles) ends the run and is read as a single handle.
"""

from array import array
from collections.abc import Iterator
from struct import Struct
from sys import byteorder

import numpy as np

from ingest.metadata.pieces import FileRun, Handle, Keyed, Operator, Stream
from ingest.metadata.streams import StreamTag
from ingest.metadata.window import Window

_FILE = int(StreamTag.FILE)
_PROBE = 8
"""Entries compared before the rest: a short run does not cost a look at the whole window."""


class RawRun(tuple[int, int, int, bytes]):
    """Length of names, length of paths, number of files, bytes: the last fields of a ``FileRun``."""

    __slots__ = ()

    def of(self, operator: Operator, subtask: int, kind: str, keyed: Keyed) -> FileRun:
        return FileRun(operator, subtask, kind, keyed, *self)

    def paths_at(self, position: int) -> range:
        name_length, path_length, files, _ = self
        stride = name_length + 13 + path_length
        return range(position + name_length + 11, position + files * stride, stride)


def take_run(window: Window, limit: int) -> RawRun | None:
    if window.available(2) < 2:
        return None
    data, at = window.data, window.at
    name_length = data[at] << 8 | data[at + 1]
    head_bytes = 2 + name_length + 11
    if window.available(head_bytes) < head_bytes:
        return None
    data, at = window.data, window.at
    path_length = data[at + head_bytes - 2] << 8 | data[at + head_bytes - 1]
    stride = head_bytes + path_length
    if data[at + 2 + name_length] != _FILE or window.available(stride) < stride:
        return None
    data, at = window.data, window.at
    count = _count_alike(data, at, window.end, stride, limit, name_length)
    if not _is_plain(data[at : at + count * stride], stride, count, name_length):
        # An entry is not plain: those before it are taken one by one.
        count = 1
        if not _is_plain(data[at : at + stride], stride, 1, name_length):
            return None
    window.at = end = at + count * stride
    return RawRun((name_length, path_length, count, data[at:end]))


def _count_alike(data: bytes, at: int, end: int, stride: int, limit: int, name_length: int) -> int:
    limit = min(limit, (end - at) // stride)
    lengths_at = at + 11 + name_length
    if limit == 1 or data[at : at + 2] != data[at + stride : at + stride + 2]:
        return 1
    if data[lengths_at : lengths_at + 2] != data[lengths_at + stride : lengths_at + stride + 2]:
        return 1
    probed = _count_equal(data, at, stride, min(limit, _PROBE), name_length)
    return _count_equal(data, at, stride, limit, name_length) if probed == _PROBE else probed


def _count_equal(data: bytes, at: int, stride: int, limit: int, name_length: int) -> int:
    end = at + limit * stride
    count = limit
    for offset in (at, at + 1, at + 2 + name_length, at + 11 + name_length, at + 12 + name_length):
        different = data[offset:end:stride].lstrip(data[offset : offset + 1])
        count = min(count, limit - len(different))
    return count


def _is_plain(block: bytes, stride: int, count: int, name_length: int) -> bool:
    size_at = 3 + name_length
    if count == 1:
        return (
            block[size_at] < 0x80 and block[2:size_at].isascii() and block[size_at + 10 :].isascii()
        )
    if not block[size_at::stride].isascii():
        return False
    texts = bytearray(block)
    zeros = bytes(count)
    # Clears binary fields: length of the name, size, length of the path.
    for offset in (0, 1, *range(size_at, size_at + 10)):
        texts[offset::stride] = zeros
    return texts.isascii()


def sizes(run: FileRun) -> "array[int]":
    numbers = array("q")
    numbers.frombytes(fields(run)[1])
    if byteorder == "little":
        numbers.byteswap()
    return numbers


def fields(run: FileRun) -> tuple[bytes, bytes, bytes]:
    """Names, sizes (big-endian) and paths of all files, each concatenated."""
    block, name_end = run.block, 2 + run.name_length
    if run.files == 1:
        return block[2:name_end], block[name_end + 1 : name_end + 9], block[name_end + 11 :]
    entries = np.frombuffer(block, np.uint8).reshape(run.files, -1)
    return (
        entries[:, 2:name_end].tobytes(),
        entries[:, name_end + 1 : name_end + 9].tobytes(),
        entries[:, name_end + 11 :].tobytes(),
    )


def handles(run: FileRun) -> Iterator[Handle]:
    entry = Struct(f">2x{run.name_length}sxq2x{run.path_length}s")
    state_class = run.keyed.state_class
    for name, size, path_bytes in entry.iter_unpack(run.block):
        path = path_bytes.decode("ascii")
        stream = Stream("FileStateHandle", size, path, path)
        yield Handle(
            run.operator,
            run.subtask,
            run.kind,
            state_class,
            stream,
            size,
            name.decode("ascii"),
            run.keyed,
        )
