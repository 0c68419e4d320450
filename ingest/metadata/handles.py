from collections.abc import Iterable, Iterator

from ingest.metadata import file_runs
from ingest.metadata.pieces import FileRun, Handle, KeyedState, Piece


def handles_of(piece: Piece) -> Iterator[Handle]:
    if isinstance(piece, Handle):
        yield piece
    elif isinstance(piece, KeyedState):
        for part in piece.parts:
            if isinstance(part, FileRun):
                yield from file_runs.handles(part)
            else:
                yield part


def handles(pieces: Iterable[Piece]) -> Iterator[Handle]:
    for piece in pieces:
        yield from handles_of(piece)
