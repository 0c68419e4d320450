"""Bodies that log shippers send, unpacked within bounds."""

import gzip
import zlib
from typing import IO, Protocol

import zstandard

from ingest.errors import Refused

LARGEST_BODY_BYTES = 16 * 1024 * 1024
"""Unpacked: several times what Fluent Bit (2 MiB a chunk), Vector (10 MB a batch) and OpenTelemetry send at once."""

READ_BYTES = 256 * 1024


class SupportsRead(Protocol):
    def read(self, size: int, /) -> bytes: ...


class TooLarge(Refused):
    """More than one request may carry; the sender is to send less at once."""


class UnknownEncoding(Refused):
    """Packed in a way that is not read."""


def unpacked(stream: IO[bytes], encoding: str) -> bytes:
    """The whole body; ``encoding`` is the header ``Content-Encoding``.

    Raises :class:`TooLarge`, :class:`UnknownEncoding`, and :class:`Refused` for a body that is damaged or cut.
    """
    try:
        match encoding.strip().lower():
            case "" | "identity":
                return _bounded(stream)
            case "gzip" | "x-gzip":
                return _bounded(gzip.GzipFile(fileobj=stream))
            case "zstd":
                unpacker = zstandard.ZstdDecompressor(max_window_size=LARGEST_BODY_BYTES)
                return _bounded(unpacker.stream_reader(stream, read_across_frames=True))
    except (zlib.error, gzip.BadGzipFile, zstandard.ZstdError, EOFError) as error:
        raise Refused(f"The body is damaged: it is no whole {encoding.strip().lower()[:40]}.") from error
    except OSError as error:
        raise Refused("The body ended before its length.") from error
    raise UnknownEncoding(f"Content-Encoding {encoding[:40]!r} is not read; send gzip, zstd, or the plain text.")


def _bounded(stream: SupportsRead) -> bytes:
    body = bytearray()
    while piece := stream.read(READ_BYTES):
        body += piece
        if len(body) > LARGEST_BODY_BYTES:
            raise TooLarge(f"Send at most {LARGEST_BODY_BYTES:,} bytes at once, counted unpacked.")
    return bytes(body)
