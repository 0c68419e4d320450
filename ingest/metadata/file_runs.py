"""The fast path for runs of plain files in incremental state, which nearly all bytes of a large
``_metadata`` are. Entries whose names and paths have equal lengths::

    u16 L | L bytes local name | u8 2 (a file) | i64 size | u16 P | P bytes path

are compared with the first one by columns, and stay bytes until a consumer needs columns. Anything
else (longer names, non-ASCII, other handles) ends the run and goes to the reader of single handles.
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
"""Entries compared first: with alternating lengths the whole window would be compared for each."""


class RawRun(tuple[int, int, int, bytes]):
    """(name length, path length, files, block), not yet assigned to a state."""

    __slots__ = ()

    def of(self, operator: Operator, subtask: int, kind: str, keyed: Keyed) -> FileRun:
        return FileRun(operator, subtask, kind, keyed, *self)

    def path_places(self, position: int) -> range:
        name_length, path_length, files, _ = self
        stride = name_length + 13 + path_length
        return range(position + name_length + 11, position + files * stride, stride)


def take_run(window: Window, limit: int) -> RawRun | None:
    if window.available(2) < 2:
        return None
    data, at = window.data, window.at
    name_length = data[at] << 8 | data[at + 1]
    head = 2 + name_length + 11
    if window.available(head) < head:
        return None
    data, at = window.data, window.at
    path_length = data[at + head - 2] << 8 | data[at + head - 1]
    stride = head + path_length
    if data[at + 2 + name_length] != _FILE or window.available(stride) < stride:
        return None
    data, at = window.data, window.at
    count = _count_alike(data, at, window.end, stride, limit, name_length)
    if not _is_plain(data[at : at + count * stride], stride, count, name_length):
        # The single reader takes the bad entry; good ones before it come one at a time.
        count = 1
        if not _is_plain(data[at : at + stride], stride, 1, name_length):
            return None
    window.at = end = at + count * stride
    return RawRun((name_length, path_length, count, data[at:end]))


def _count_alike(data: bytes, at: int, end: int, stride: int, limit: int, name_length: int) -> int:
    most = min(limit, (end - at) // stride)
    lengths_at = at + 11 + name_length
    if most == 1 or data[at : at + 2] != data[at + stride : at + stride + 2]:
        return 1
    if data[lengths_at : lengths_at + 2] != data[lengths_at + stride : lengths_at + stride + 2]:
        return 1
    probed = _alike(data, at, stride, min(most, _PROBE), name_length)
    return _alike(data, at, stride, most, name_length) if probed == _PROBE else probed


def _alike(data: bytes, at: int, stride: int, most: int, name_length: int) -> int:
    end = at + most * stride
    count = most
    for place in (at, at + 1, at + 2 + name_length, at + 11 + name_length, at + 12 + name_length):
        different = data[place:end:stride].lstrip(data[place : place + 1])
        count = min(count, most - len(different))
    return count


def _is_plain(block: bytes, stride: int, count: int, name_length: int) -> bool:
    """All texts ASCII, all sizes 0 or more."""
    size_at = 3 + name_length
    if count == 1:
        return (
            block[size_at] < 0x80 and block[2:size_at].isascii() and block[size_at + 10 :].isascii()
        )
    if not block[size_at::stride].isascii():
        return False
    texts = bytearray(block)
    zeros = bytes(count)
    # Without the binary fields: the length of the name, the size, the length of the path.
    for place in (0, 1, *range(size_at, size_at + 10)):
        texts[place::stride] = zeros
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
