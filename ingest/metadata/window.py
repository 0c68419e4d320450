"""A forward-only view of a stream: big-endian fields with their positions, a window in memory."""

from struct import Struct
from typing import BinaryIO

from ingest.messages import message, plural
from ingest.metadata.dialects import DamagedMetadata, IncompleteMetadata, UnsupportedMetadata

WINDOW_BYTES = 1 << 20

_INT = Struct(">i").unpack_from
_LONG = Struct(">q").unpack_from
_LENGTH = Struct(">H").unpack_from


class Window:
    """``stream`` is read from its current place on, which is position 0."""

    __slots__ = ("_base", "_stream", "at", "data", "end")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._base = 0
        self.data = b""
        self.at = 0
        self.end = 0

    @property
    def position(self) -> int:
        return self._base + self.at

    def available(self, wanted: int) -> int:
        """Fewer than ``wanted`` only at the end of the file."""
        if self.end - self.at < wanted:
            self._fill(wanted)
        return self.end - self.at

    def take(self, size: int, expected: str) -> int:
        """Skip ``size`` bytes (at most a window); returns their offset in ``data``."""
        at = self.at
        end = at + size
        if end > self.end:
            self._require(size, expected)
            at = self.at
            end = at + size
        self.at = end
        return at

    def byte(self, expected: str) -> int:
        at = self.take(1, expected)
        return self.data[at]

    def int32(self, expected: str) -> int:
        at = self.take(4, expected)
        number: int = _INT(self.data, at)[0]
        return number

    def int64(self, expected: str) -> int:
        at = self.take(8, expected)
        number: int = _LONG(self.data, at)[0]
        return number

    def count(self, expected: str) -> int:
        number = self.int32(expected)
        if number < 0:
            raise self.damaged(
                4,
                message("{expected:text} of 0 or more", expected=expected),
                str(number),
            )
        return number

    def bounded_count(self, most: int, things: str) -> int:
        """A count of entries that become objects, bounded against forged numbers."""
        number = self.count(message("the number of {things:text}", things=things))
        if number > most:
            raise self.damaged(
                4,
                message("at most {most:count} {things:text}", most=most, things=things),
                f"{number:,}",
            )
        return number

    def size(self, expected: str) -> int:
        number = self.int64(expected)
        if number < 0:
            raise self.damaged(
                8,
                message("{expected:text} of 0 or more", expected=expected),
                str(number),
            )
        return number

    def flag(self, expected: str) -> bool:
        value = self.byte(expected)
        if value > 1:
            raise self.damaged(
                1,
                message("{expected:text} (0 or 1)", expected=expected),
                str(value),
            )
        return value == 1

    def text(self, expected: str) -> str:
        at = self.take(2, expected)
        size = _LENGTH(self.data, at)[0]
        at = self.take(size, expected)
        written = self.data[at : at + size]
        if written.isascii():
            return written.decode("ascii")
        try:
            return decode(written)
        except UnicodeDecodeError as error:
            raise DamagedMetadata(
                self.position - size + error.start,
                message("{expected:text} in modified UTF-8", expected=expected),
                error.reason,
            ) from error

    def damaged(self, back: int, expected: str, found: str) -> DamagedMetadata:
        """The error of a field that began ``back`` bytes before."""
        return DamagedMetadata(self.position - back, expected, found)

    def unsupported(self, back: int, expected: str, found: str) -> UnsupportedMetadata:
        return UnsupportedMetadata(self.position - back, expected, found)

    def skip(self, size: int, expected: str) -> None:
        while size > 0:
            some = min(size, WINDOW_BYTES)
            self.take(some, expected)
            size -= some

    def expect_end(self) -> None:
        if self.available(1):
            raise DamagedMetadata(
                self.position, message("the end of the file"), message("more bytes")
            )

    def _require(self, size: int, expected: str) -> None:
        if self.available(size) < size:
            raise IncompleteMetadata(
                self.position,
                message("{expected:text} ({size:number} bytes)", expected=expected, size=size)
                if size != 1
                else message("{expected:text} (1 byte)", expected=expected),
                message(
                    "the end of the file after {base:message}",
                    base=plural(self._base + self.end, "{count:count} byte", "{count:count} bytes"),
                ),
            )

    def _fill(self, wanted: int) -> None:
        kept = self.data[self.at :]
        pieces = [kept]
        size = len(kept)
        while size < wanted and (piece := self._stream.read(WINDOW_BYTES)):
            pieces.append(piece)
            size += len(piece)
        self._base += self.at
        self.data = b"".join(pieces)
        self.at = 0
        self.end = size


def decode(written: bytes) -> str:
    """Java's modified UTF-8: NUL is ``C0 80``, characters beyond the BMP are two surrogates of
    three bytes each. Raises ``UnicodeDecodeError`` for what ``DataInput.readUTF`` refuses, and for
    half a surrogate pair.
    """
    for position, byte in enumerate(written):
        if byte >= 0xF0:
            raise UnicodeDecodeError(
                message("modified utf-8"),
                written,
                position,
                position + 1,
                message("a byte that never occurs"),
            )
    halves = written.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    try:
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise UnicodeDecodeError(
            message("modified utf-8"), written, 0, len(written), message("half of a surrogate pair")
        ) from error
