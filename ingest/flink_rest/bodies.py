"""Reads an answer's body within bounds: neither a long answer nor a small one that unpacks to
gigabytes is held.
"""

import zlib
from collections.abc import AsyncIterable

from ingest.flink_rest.faults import BadAnswer
from ingest.messages import message

GZIP_OR_ZLIB = 47


async def read_body(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> bytes:
    """All bytes, unpacked; raises ``BadAnswer`` as soon as they exceed the limit or do not
    unpack.
    """
    kept: list[bytes] = []
    size = 0
    async for chunk in unpacked(chunks, encoding, limit_bytes, path):
        size += len(chunk)
        if size > limit_bytes:
            raise too_large(path, limit_bytes)
        kept.append(chunk)
    return kept[0] if len(kept) == 1 else b"".join(kept)


async def beginning(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> bytes:
    kept = b""
    try:
        async for chunk in unpacked(chunks, encoding, limit_bytes, path):
            kept += chunk
            if len(kept) >= limit_bytes:
                break
    except BadAnswer:
        pass
    return kept[:limit_bytes]


async def unpacked(
    chunks: AsyncIterable[bytes], encoding: str, limit_bytes: int, path: str
) -> AsyncIterable[bytes]:
    """The chunks as sent, or unpacked where the answer is gzip or deflate, and then at most
    ``limit_bytes`` in all.
    """
    if encoding in ("", "identity"):
        async for chunk in chunks:
            yield chunk
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise BadAnswer(
            message(
                "{path:name} was answered with encoding {encoding:text}, which was not requested.",
                path=path,
                encoding=f"{encoding[:40]!r}",
            ),
            "http_error",
            path,
        )
    unpacker, left = zlib.decompressobj(GZIP_OR_ZLIB), limit_bytes
    try:
        async for chunk in chunks:
            piece = unpacker.decompress(chunk, left + 1)
            left -= len(piece)
            if left < 0:
                raise too_large(path, limit_bytes)
            yield piece
    except zlib.error as error:
        raise BadAnswer(
            message(
                "{path:name} was answered with encoding {encoding:name} but cannot be "
                "decompressed.",
                path=path,
                encoding=encoding,
            ),
            "http_error",
            path,
        ) from error


def too_large(path: str, limit_bytes: int) -> BadAnswer:
    mebibytes = limit_bytes / (1024 * 1024)
    return BadAnswer(
        message(
            "{path:name} answered more than {mebibytes:name} MiB and was cut off there; raise "
            "max_response_bytes if that is expected.",
            path=path,
            mebibytes=f"{mebibytes:.4g}",
        ),
        "too_large",
        path,
    )
