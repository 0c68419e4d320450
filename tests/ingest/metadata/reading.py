"""Reading bytes in tests."""

import io
from typing import Any

from ingest.metadata.handles import handles
from ingest.metadata.pieces import Handle, Piece
from ingest.metadata.reader import read_pieces
from tests.ingest.metadata.lines import handle_line, header_line
from tests.ingest.metadata.summary import Summary, summarise

DIRECTORY = "file:/ckpt/0123456789abcdef0123456789abcdef/chk-7"


def pieces(written: bytes, directory: str = DIRECTORY) -> list[Piece]:
    return list(read_pieces(lambda: io.BytesIO(written), directory))


def rows(written: bytes, directory: str = DIRECTORY) -> list[Handle]:
    return list(handles(pieces(written, directory)))


def summary(written: bytes, directory: str = DIRECTORY) -> Summary:
    return summarise(read_pieces(lambda: io.BytesIO(written), directory), directory)


def lines(written: bytes, directory: str = DIRECTORY) -> list[dict[str, Any]]:
    """As the command prints them: the header, then the handles."""
    return [
        header_line(summary(written, directory), "-"),
        *map(handle_line, rows(written, directory)),
    ]
