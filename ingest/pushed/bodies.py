import re
import zlib
from typing import IO, Protocol

import zstandard

from ingest.errors import Refused
from ingest.pushed.bounds import Count, TooLarge

LARGEST_BODY_BYTES = 16 * 1024 * 1024
"""Decompressed: more than Fluent Bit (2 MiB), Vector (10 MB) and OpenTelemetry send."""

READ_BYTES = 256 * 1024
MAX_GZIPS = 1_000
"""Most concatenated gzips; shippers send one. Each takes 10 µs, even an empty one."""
_ZEROS = re.compile(rb"\0*")


class SupportsRead(Protocol):
    def read(self, size: int, /) -> bytes: ...


class UnknownEncoding(Refused):
    pass


def unpacked(stream: IO[bytes], encoding: str) -> bytes:
    """``encoding`` is ``Content-Encoding``. Raises ``TooLarge``, ``UnknownEncoding``, and
    ``Refused`` for a body that is damaged or cut.
    """
    try:
        match encoding.strip().lower():
            case "" | "identity":
                return _read_bounded(stream)
            case "gzip" | "x-gzip":
                return _gunzip(_read_bounded(stream))
            case "zstd":
                unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_BODY_BYTES)
                return _read_bounded(
                    unpacker.stream_reader(_read_bounded(stream), read_across_frames=True)
                )
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        raise Refused(
            f"The body is damaged: it is no whole {encoding.strip().lower()[:40]}."
        ) from error
    except OSError as error:
        raise Refused("The body ended before its length.") from error
    raise UnknownEncoding(
        f"Content-Encoding {encoding[:40]!r} is not read; send gzip, zstd, or the plain text."
    )


def _read_bounded(stream: SupportsRead) -> bytes:
    body = bytearray()
    while piece := stream.read(READ_BYTES):
        body += piece
        if len(body) > LARGEST_BODY_BYTES:
            raise _too_large()
    return bytes(body)


def _gunzip(packed: bytes) -> bytes:
    body, gzips, at = bytearray(), Count(MAX_GZIPS, "gzips one behind the other"), 0
    while at < len(packed):
        gzips.add()
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        while not unpacker.eof:
            piece = memoryview(packed)[at : at + READ_BYTES]
            if not piece:
                raise EOFError
            body += unpacker.decompress(piece, LARGEST_BODY_BYTES - len(body) + 1)
            if len(body) > LARGEST_BODY_BYTES:
                raise _too_large()
            at += len(piece) - len(unpacker.unused_data)
        if zeros := _ZEROS.match(packed, at):
            at = zeros.end()
    return bytes(body)


def _too_large() -> TooLarge:
    return TooLarge(
        f"The body is larger than {LARGEST_BODY_BYTES:,} bytes, packed or unpacked; send smaller "
        "batches."
    )
