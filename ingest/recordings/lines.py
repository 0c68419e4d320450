"""Lines of a recording file, one at a time in bounded memory, whatever the file holds."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ingest.regular_files import open_regular

MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    size_bytes: int
    content: bytes | None


def read_lines(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Lines of a plain or ``.gz`` file, empty ones left out.

    Raises ``OSError`` where the file cannot be read or, after the lines before it, where a gzip
    file is damaged.
    """
    with _open(path) as handle:
        number = 0
        try:
            while chunk := handle.readline(max_line_bytes + 1):
                number += 1
                if len(chunk) > max_line_bytes and not chunk.endswith(b"\n"):
                    yield Line(number, len(chunk) + _skip_rest_of_line(handle), None)
                elif chunk.strip():
                    yield Line(number, len(chunk), chunk.rstrip(b"\r\n"))
        except (EOFError, zlib.error) as error:
            raise OSError(f"damaged gzip file after line {number}: {error}") from error


def _open(path: Path) -> BinaryIO:
    file = open_regular(path)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file


def _skip_rest_of_line(handle: BinaryIO) -> int:
    skipped = 0
    while chunk := handle.readline(1024 * 1024):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
