from array import array
from collections.abc import Callable
from typing import BinaryIO

from ingest.errors import Refused
from ingest.metadata.reader import Open, read_pieces
from ingest.metadata.window import WINDOW_BYTES, Window, decode

LONGEST_PATH_BYTES = 0xFFFF


def rewrite(open_: Open, out: BinaryIO, new_path: Callable[[str], str]) -> int:
    """Write the file that ``open_`` opens to ``out``, with absolute paths changed by ``new_path``;
    returns their number. The file is read to its end before writing begins. Raises
    ``MetadataError``, and ``Refused`` for a path that is too long for the format.
    """
    paths_at = array("q")
    for _ in read_pieces(open_, "", paths_at):
        pass
    with open_() as stream:
        window = Window(stream)
        for position in paths_at:
            _copy(window, out, position - window.position)
            size = int.from_bytes(_take(window, 2), "big")
            out.write(encoded(new_path(decode(_take(window, size)))))
        while size := window.available(1):
            _copy(window, out, size)
    return len(paths_at)


def encoded(path: str) -> bytes:
    units = path.encode("utf-16-be", "surrogatepass")
    surrogates = (
        "".join(chr(units[at] << 8 | units[at + 1]) for at in range(0, len(units), 2))
        if not path.isascii()
        else path
    )
    content = surrogates.encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")
    if len(content) > LONGEST_PATH_BYTES:
        raise Refused(
            f"A path of {len(content):,} bytes does not fit into a _metadata "
            f"({LONGEST_PATH_BYTES:,}): {path[:200]!r}…"
        )
    return len(content).to_bytes(2, "big") + content


def _copy(window: Window, out: BinaryIO, size: int) -> None:
    while size:
        chunk_bytes = min(size, WINDOW_BYTES)
        out.write(_take(window, chunk_bytes))
        size -= chunk_bytes


def _take(window: Window, size: int) -> bytes:
    at = window.take(size)
    return window.data[at : at + size]
