from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import BinaryIO

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata, IncompleteMetadata, UnsupportedMetadata

WINDOW_BYTES = 1 << 20
MOST_NESTED = 16
"""Flink nests two or three deep; a forged file must not exhaust the stack."""

_INT = Struct(">i").unpack_from
_LONG = Struct(">q").unpack_from
_LENGTH = Struct(">H").unpack_from


class Window:
    """Reads ``stream`` piece by piece. ``data[at:end]`` is not read yet. ``position`` 0 is where
    the stream is at first.
    """

    __slots__ = ("_base", "_depth", "_stream", "at", "data", "end")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._base = self._depth = 0
        self.data = b""
        self.at = 0
        self.end = 0

    @property
    def position(self) -> int:
        return self._base + self.at

    def available(self, size: int) -> int:
        """Number of bytes in ``data`` from ``at`` on: below ``size`` only at the file's end."""
        if self.end - self.at < size:
            self._fill(size)
        return self.end - self.at

    def take(self, size: int) -> int:
        """Skip ``size`` bytes (at most a window); returns their offset in ``data``."""
        at = self.at
        end = at + size
        if end > self.end:
            if self.available(size) < size:
                raise IncompleteMetadata(
                    self.position,
                    message("the file ends after {end:count} bytes", end=self._base + self.end),
                )
            at = self.at
            end = at + size
        self.at = end
        return at

    def byte(self) -> int:
        at = self.take(1)
        return self.data[at]

    def int32(self) -> int:
        at = self.take(4)
        number: int = _INT(self.data, at)[0]
        return number

    def int64(self) -> int:
        at = self.take(8)
        number: int = _LONG(self.data, at)[0]
        return number

    def count(self) -> int:
        number = self.int32()
        if number < 0:
            raise self.wrong_number(4, number)
        return number

    def bounded_count(self, most: int) -> int:
        number = self.count()
        if number > most:
            raise self.wrong_number(4, number)
        return number

    def size(self) -> int:
        number = self.int64()
        if number < 0:
            raise self.wrong_number(8, number)
        return number

    def flag(self) -> bool:
        value = self.byte()
        if value > 1:
            raise self.wrong_number(1, value)
        return value == 1

    def text(self) -> str:
        at = self.take(2)
        size = _LENGTH(self.data, at)[0]
        at = self.take(size)
        content = self.data[at : at + size]
        if content.isascii():
            return content.decode("ascii")
        try:
            return decode(content)
        except UnicodeDecodeError as error:
            raise DamagedMetadata(
                self.position - size + error.start, message("a text that is not in modified UTF-8")
            ) from error

    def wrong_number(self, size: int, number: int) -> DamagedMetadata:
        return DamagedMetadata(
            self.position - size, message("the impossible number {number:count}", number=number)
        )

    def unknown_tag(self, tag: int) -> UnsupportedMetadata:
        return UnsupportedMetadata(
            self.position - 1, message("the tag {tag:number}, which is not known here", tag=tag)
        )

    def skip(self, size: int) -> None:
        while size > 0:
            chunk_bytes = min(size, WINDOW_BYTES)
            self.take(chunk_bytes)
            size -= chunk_bytes

    @contextmanager
    def nested(self, things: str) -> Iterator[None]:
        if self._depth >= MOST_NESTED:
            raise DamagedMetadata(
                self.position,
                message(
                    "more than {most_nested:number} {things:text} in each other",
                    most_nested=MOST_NESTED,
                    things=things,
                ),
            )
        self._depth += 1
        yield
        self._depth -= 1

    def expect_end(self) -> None:
        if self.available(1):
            raise DamagedMetadata(self.position, message("more bytes than the format has"))

    def _fill(self, size: int) -> None:
        data = self.data[self.at :]
        pieces = [data]
        present = len(data)
        while present < size and (piece := self._stream.read(WINDOW_BYTES)):
            pieces.append(piece)
            present += len(piece)
        self._base += self.at
        self.data = b"".join(pieces)
        self.at = 0
        self.end = present


def decode(content: bytes) -> str:
    """Decode Java's modified UTF-8: NUL is ``C0 80``, characters beyond the BMP are two surrogates
    of three bytes each. Raises ``UnicodeDecodeError`` like ``DataInput.readUTF``, and for half a
    surrogate pair.
    """
    for position, byte in enumerate(content):
        if byte >= 0xF0:
            raise UnicodeDecodeError(
                "modified utf-8", content, position, position + 1, "a byte that never occurs"
            )
    surrogates = content.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    try:
        return surrogates.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise UnicodeDecodeError(
            "modified utf-8", content, 0, len(content), "half of a surrogate pair"
        ) from error
