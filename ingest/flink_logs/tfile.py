"""Hadoop's TFile, read forwards: a BCFile of packed blocks that hold keys and values (HADOOP-3315).
Whatever a file claims, no more is held than a piece of a block, one key and the index.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

MAGIC = bytes.fromhex("d111d36891b5d7b639df414092bae150")
_TRAILER_BYTES = 8 + 4 + len(MAGIC)
MAX_INDEX_BYTES = 4 * 1024 * 1024
"""About 300,000 blocks, and a block holds 256 KiB or more."""
MAX_KEY_BYTES = 64 * 1024
"""As the specification says."""
PIECE_BYTES = 64 * 1024


class BadTFile(OSError):
    """It is damaged, or packed in a way that is not read; the message says which."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.strerror = why


@dataclass(frozen=True, slots=True)
class Block:
    """``raw_bytes`` is what it says of its content once unpacked; ``packed`` whether that is
    zlib's.
    """

    offset: int
    stored_bytes: int
    raw_bytes: int
    packed: bool


class Source:
    """Bytes that come in pieces, taken in order; ``taken`` says how many were."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._piece, self._at, self.taken = pieces, b"", 0, 0

    def some(self, most: int) -> bytes:
        """At least one byte where there is one, at most ``most``; nothing at the end."""
        while self._at == len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            self._piece, self._at = piece, 0
        content = self._piece[self._at : self._at + most]
        self._at += len(content)
        self.taken += len(content)
        return content

    def exactly(self, count: int) -> bytes:
        """Callers bound ``count``. Raises :class:`BadTFile` where there is less."""
        content = bytearray()
        while len(content) < count:
            piece = self.some(count - len(content))
            if not piece:
                raise BadTFile("it ends in the middle of a record; was it copied whole?")
            content += piece
        return bytes(content)


def blocks_of(stream: IO[bytes]) -> list[Block]:
    """Data blocks, in order. Raises :class:`BadTFile`."""
    size = stream.seek(0, 2)
    stream.seek(0)
    if size < len(MAGIC) + _TRAILER_BYTES or stream.read(len(MAGIC)) != MAGIC:
        raise BadTFile("it does not begin as a TFile does")
    stream.seek(size - _TRAILER_BYTES)
    trailer = stream.read(_TRAILER_BYTES)
    if trailer[12:] != MAGIC:
        raise BadTFile("it has no end of a TFile: it is still written, or was cut off")
    if trailer[8:10] != b"\x00\x01":
        raise BadTFile(f"its version is {int.from_bytes(trailer[8:10], 'big')}, and 1 is read")
    end = size - _TRAILER_BYTES
    at = int.from_bytes(trailer[:8], "big")
    if not len(MAGIC) <= at <= end:
        raise BadTFile("its index lies outside of it")
    meta = _held(stream, Block(at, end - at, end - at, False), end)
    for _ in range(_count(meta, end - at)):
        name = _text(meta)
        where = _region(meta, _text(meta))
        if name == "data:BCFile.index":
            return _data_blocks(_held(stream, where, end), end)
    raise BadTFile("it has no index of its blocks")


def unpacked(stream: IO[bytes], block: Block) -> Iterator[bytes]:
    """The content of a block in pieces. Raises :class:`BadTFile`."""
    stream.seek(block.offset)
    left, unpacker, given = block.stored_bytes, zlib.decompressobj(), 0
    while left:
        stored = stream.read(min(left, PIECE_BYTES))
        if not stored:
            raise BadTFile("a block ends before its time")
        left -= len(stored)
        while stored:
            try:
                piece = unpacker.decompress(stored, PIECE_BYTES) if block.packed else stored
            except zlib.error as error:
                raise BadTFile(f"a block cannot be unpacked ({error})") from error
            stored = unpacker.unconsumed_tail if block.packed else b""
            given += len(piece)
            if given > block.raw_bytes:
                raise BadTFile("a block holds more than it says")
            if piece:
                yield piece
    if given != block.raw_bytes:
        raise BadTFile("a block holds less than it says")


def records(source: Source, wanted: Callable[[bytes], bool]) -> Iterator[tuple[bytes, Source]]:
    """Keys of a block that are ``wanted``, with their values, which need not be taken to their end.

    Raises :class:`BadTFile`.
    """
    while (first := source.some(1)) != b"":
        length = _number(source, first)
        if not 0 <= length <= MAX_KEY_BYTES:
            raise BadTFile("a key is longer than a key can be")
        key = source.exactly(length)
        value = _chunks(source)
        if wanted(key):
            yield key, Source(value)
        for _ in value:
            pass


def _chunks(source: Source) -> Iterator[bytes]:
    """Of a value: a negative length says that another chunk follows."""
    is_last = False
    while not is_last:
        length = _number(source)
        is_last, left = length >= 0, abs(length)
        while left:
            piece = source.some(min(left, PIECE_BYTES))
            if not piece:
                raise BadTFile("it ends in the middle of a value; was it copied whole?")
            left -= len(piece)
            yield piece


def _data_blocks(index: Source, end: int) -> list[Block]:
    compression = _text(index)
    return [_region(index, compression) for _ in range(_count(index, end))]


def _region(source: Source, compression: str) -> Block:
    if compression not in ("none", "gz"):
        raise BadTFile(
            f"it is packed by {compression[:20]!r}; none and gz are read "
            "(yarn.nodemanager.log-aggregation.compression-type)"
        )
    offset, stored, raw = (_number(source) for _ in range(3))
    if min(offset, stored, raw) < 0:
        raise BadTFile("a block begins before the file does")
    return Block(offset, stored, raw, compression == "gz")


def _held(stream: IO[bytes], block: Block, end: int) -> Source:
    if (
        max(block.stored_bytes, block.raw_bytes) > MAX_INDEX_BYTES
        or block.offset + block.stored_bytes > end
    ):
        raise BadTFile("its index is larger than an index can be")
    return Source(unpacked(stream, block))


def _count(source: Source, end: int) -> int:
    count = _number(source)
    if not 0 <= count <= end:
        raise BadTFile("its index has more entries than bytes")
    return count


def _text(source: Source) -> str:
    length = _number(source)
    if not 0 <= length <= 1024:
        raise BadTFile("a name in its index is too long")
    return source.exactly(length).decode("utf-8", "replace")


def _number(source: Source, first: bytes = b"") -> int:
    """``Utils.readVLong``: one byte from -32 on, else the first says how many follow and is the
    highest part of the shorter ones.
    """
    head = int.from_bytes(first or source.exactly(1), "big", signed=True)
    if head >= -32:
        return head
    kind = (head + 128) // 8
    if kind >= 7:
        return ((head + 52) << 8) | int.from_bytes(source.exactly(1), "big")
    if kind >= 3:
        return ((head + 88) << 16) | int.from_bytes(source.exactly(2), "big")
    if kind >= 1:
        return ((head + 112) << 24) | int.from_bytes(source.exactly(3), "big")
    return int.from_bytes(source.exactly(head + 129), "big", signed=True)
