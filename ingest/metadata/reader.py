import zlib
from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO

from ingest.messages import message
from ingest.metadata.dialects import (
    DIALECTS,
    MAGIC,
    DamagedMetadata,
    Dialect,
    MetadataError,
    UnsupportedMetadata,
)
from ingest.metadata.pieces import End, FileRun, Handle, KeyedState, Piece
from ingest.metadata.reading import Reading
from ingest.metadata.walk import walk
from ingest.metadata.window import Window

READER_VERSION = 2
"""Part of the key of cached results. Increase it if the same bytes now give other rows."""

Open = Callable[[], BinaryIO]


def read_pieces(
    open_: Open, directory: str, paths_at: "array[int] | None" = None
) -> Iterator[Piece]:
    """Pieces of the file that ``open_`` opens, perhaps several times. Relative paths are in
    ``directory``. The pieces are complete only if the last is ``End``. ``paths_at`` gets
    the positions of the length fields of all absolute paths. Raises ``MetadataError`` and errors of
    the stream.
    """
    with open_() as stream:
        window = Window(stream)
        dialects = _dialects(window)
        if len(dialects) == 1:
            yield from walk(Reading(window, dialects[0], directory, paths_at=paths_at))
            return
    dialect = _choose_dialect(open_, directory, dialects)
    with open_() as stream:
        window = Window(stream)
        _dialects(window)
        yield from walk(Reading(window, dialect, directory, paths_at=paths_at))


def _dialects(window: Window) -> tuple[Dialect, ...]:
    magic = window.int32() & 0xFFFFFFFF
    if magic != MAGIC:
        raise DamagedMetadata(
            0, message("no magic number of Flink (0x{magic:name})", magic=f"{magic:08x}")
        )
    version = window.int32()
    if version == 1:
        raise UnsupportedMetadata(
            4,
            message("format version 1, of Flink 1.2 or older, which Flink itself no longer reads"),
        )
    if version not in DIALECTS:
        raise UnsupportedMetadata(
            4,
            message(
                "format version {version:number}; known are {min:number} to {max:number}",
                version=version,
                min=min(DIALECTS),
                max=max(DIALECTS),
            ),
        )
    return DIALECTS[version]


def _choose_dialect(open_: Open, directory: str, dialects: tuple[Dialect, ...]) -> Dialect:
    fitting: dict[int, Dialect] = {}
    furthest: MetadataError | None = None
    for dialect in dialects:
        with open_() as stream:
            window = Window(stream)
            _dialects(window)
            reading = Reading(window, dialect, directory)
            try:
                fitting.setdefault(_fingerprint(reading), dialect)
            except MetadataError as error:
                if furthest is None or error.position > furthest.position:
                    furthest = error
            if not reading.in_doubt:
                # No other dialect would read these bytes differently.
                break
    if len(fitting) > 1:
        names = " and ".join(dialect.name for dialect in fitting.values())
        raise DamagedMetadata(
            4, message("the format of {names:name}, which read it differently", names=names)
        )
    if furthest is not None and not fitting:
        raise furthest
    return next(iter(fitting.values()))


def _fingerprint(reading: Reading) -> int:
    checksum = 0
    for piece in walk(reading):
        if isinstance(piece, Handle | KeyedState | End):
            checksum = zlib.crc32(_content(piece), checksum)
    return checksum


def _content(piece: Handle | KeyedState | End) -> bytes:
    if isinstance(piece, Handle):
        return repr(piece[1:]).encode()
    if isinstance(piece, End):
        return repr(piece).encode()
    parts = [
        part.block if isinstance(part, FileRun) else repr(part[1:]).encode() for part in piece.parts
    ]
    return repr(piece.keyed).encode() + b"".join(parts)
