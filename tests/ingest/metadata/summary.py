"""What a ``_metadata`` amounts to: totals per operator, bytes in files and in the file itself,
directories it refers to.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ingest.metadata.dialects import IncompleteMetadata
from ingest.metadata.handles import handles_of
from ingest.metadata.owners import owner_directory
from ingest.metadata.pieces import (
    End,
    Handle,
    Header,
    KeyedState,
    Operator,
    Piece,
    Properties,
    Subtask,
)

MOST_DIRECTORIES = 10_000
OTHER_DIRECTORIES = "(more directories)"


@dataclass(slots=True)
class OperatorTotals:
    """``state_bytes`` and ``checkpointed_bytes`` as Flink counts them; files are counted once for
    each reference.
    """

    operator: Operator
    subtasks: int = 0
    finished: list[int] = field(default_factory=list)
    state_bytes: int = 0
    checkpointed_bytes: int = 0
    handles: int = 0
    files: int = 0
    file_bytes: int = 0
    inline: int = 0
    inline_bytes: int = 0


@dataclass(slots=True)
class Directory:
    path: str
    references: int = 0
    bytes: int = 0
    own: bool = False
    """Below the directory of the job (or the savepoint) that the ``_metadata`` lies in."""


@dataclass(slots=True)
class Summary:
    header: Header
    operators: list[OperatorTotals]
    directories: list[Directory]
    """Most bytes first."""
    properties: Properties | None
    bytes: int

    @property
    def handles(self) -> int:
        return sum(totals.handles for totals in self.operators)

    @property
    def state_bytes(self) -> int:
        return sum(totals.state_bytes for totals in self.operators)


def summarise(pieces: Iterable[Piece], directory: str) -> Summary:
    """Raises ``MetadataError``."""
    collected = _Collector(owner_directory(directory))
    for piece in pieces:
        collected.add(piece)
    return collected.summary()


class _Collector:
    def __init__(self, owned: str) -> None:
        self.owned = owned
        self.header: Header | None = None
        self.end: End | None = None
        self.operators: list[OperatorTotals] = []
        self.directories: dict[str, Directory] = {}

    def add(self, piece: Piece) -> None:
        match piece:
            case Header():
                self.header = piece
            case Operator():
                self.operators.append(OperatorTotals(piece))
            case Subtask():
                totals = self.operators[-1]
                totals.subtasks += 1
                if piece.finished:
                    totals.finished.append(piece.subtask)
            case Handle():
                self._handle(piece)
                self.operators[-1].checkpointed_bytes += piece.state_bytes
            case KeyedState():
                self._keyed(piece)
            case End():
                self.end = piece

    def _keyed(self, state: KeyedState) -> None:
        totals = self.operators[-1]
        before = totals.state_bytes
        for handle in handles_of(state):
            self._handle(handle)
        uploaded = state.keyed.checkpointed_bytes
        totals.checkpointed_bytes += totals.state_bytes - before if uploaded is None else uploaded

    def _handle(self, handle: Handle) -> None:
        totals = self.operators[-1]
        totals.handles += 1
        totals.state_bytes += handle.state_bytes
        stream = handle.stream
        if stream is None:
            return
        if stream.path is not None:
            totals.files += 1
            totals.file_bytes += stream.bytes
            self._refer(stream.path.rpartition("/")[0], stream.bytes)
        elif stream.inline_at is not None:
            totals.inline += 1
            totals.inline_bytes += stream.bytes

    def _refer(self, path: str, size: int) -> None:
        directory = self.directories.get(path)
        if directory is None:
            if len(self.directories) >= MOST_DIRECTORIES:
                path = OTHER_DIRECTORIES
            own = f"{path}/".startswith(f"{self.owned}/")
            directory = self.directories.setdefault(path, Directory(path, own=own))
        directory.references += 1
        directory.bytes += size

    def summary(self) -> Summary:
        if self.header is None or self.end is None:
            raise IncompleteMetadata(0, "a whole file", "only a part of it")
        directories = sorted(
            self.directories.values(), key=lambda directory: (-directory.bytes, directory.path)
        )
        return Summary(
            self.header, self.operators, directories, self.end.properties, self.end.bytes
        )
