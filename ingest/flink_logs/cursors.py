from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import Any

from ingest.flink_logs.names import is_packed, process_of

HEAD_BYTES = 4096
LEAST_IDENTIFYING_BYTES = 64
MAX_GONE = 2_000
FORGET_GONE_AFTER_CYCLES = 10


@dataclass(slots=True)
class FileCursor:
    """How far a file was read. Offsets are those of the unpacked file.

    ``head`` is the fingerprint of the first ``head_bytes``. Reading begins again at ``offset``,
    though bytes up to ``read_to`` were read. ``mid_record``: the rest of the line at ``offset`` is
    left out. ``pending``: an unfinished record begins at ``offset``; ``quiet_cycles``: how long it
    did not grow. ``more``: the budget ended before the file. ``gone_cycle``: when the file was no
    longer listed. ``reported``: the file as a whole is a skip. ``seen``: see
    ``record_splitter.RecordCounts``. ``streams``: if there are several, the key and the offset of
    each unfinished record. Of other streams, all records before ``settled`` were returned.
    """

    path: str
    size: int = -1
    changed: str = ""
    head: str = ""
    head_bytes: int = 0
    offset: int = 0
    read_to: int = 0
    mid_record: bool = False
    pending: bool = False
    more: bool = False
    quiet_cycles: int = 0
    served_cycle: int = 0
    gone_cycle: int = 0
    headers: int = 0
    reported: bool = False
    seen: list[tuple[int, str, int]] = field(default_factory=list)
    settled: int = 0
    streams: list[tuple[str, str, str, int]] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)

    def matches(self, path: str, head: bytes) -> bool:
        least_bytes = LEAST_IDENTIFYING_BYTES if path != self.path else 1
        return (
            least_bytes <= self.head_bytes <= len(head)
            and fingerprint(head[: self.head_bytes]) == self.head
        )

    def renamed(self, path: str) -> "FileCursor":
        return replace(self, path=path, gone_cycle=0, quiet_cycles=0)


@dataclass(slots=True)
class TailCursor:
    cycle: int = 0
    files: dict[str, FileCursor] = field(default_factory=dict)
    gone: list[FileCursor] = field(default_factory=list)

    @classmethod
    def from_json(cls, document: dict[str, Any] | None) -> "TailCursor":
        try:
            cursors = [_file_cursor(entry) for entry in (document or {}).get("files", ())]
            cycle = int((document or {}).get("cycle", 0))
        except (AttributeError, TypeError, ValueError):
            return cls()
        return cls(
            cycle,
            {file.path: file for file in cursors if not file.gone_cycle},
            [file for file in cursors if file.gone_cycle],
        )

    def to_json(self) -> dict[str, Any]:
        documents = [_without_defaults(file) for file in (*self.files.values(), *self.gone)]
        return {"version": 1, "cycle": self.cycle, "files": documents}

    def by_process(self) -> dict[str, list[FileCursor]]:
        index: dict[str, list[FileCursor]] = {}
        for file in (*self.files.values(), *self.gone):
            index.setdefault(process_of(file.path), []).append(file)
        return index

    def recognise(
        self, path: str, head: bytes, size: int, by_process: dict[str, list[FileCursor]]
    ) -> FileCursor:
        """The cursor of the file that begins with ``head``, or a new cursor. If several match, the
        same path wins, then the longest head.
        """
        same_path = self.files.get(path)
        if head and not head.strip(b"\0"):
            # Copy-and-truncate leaves zeros, which identify no file; path and growing size do.
            is_same_file = same_path and not same_path.head and size >= same_path.read_to
            match = same_path if is_same_file else None
        else:
            candidates = by_process.get(process_of(path), ())
            match = max(
                (file for file in candidates if file.matches(path, head)),
                key=lambda file: (file.path == path, file.head_bytes, file.read_to),
                default=None,
            )
        if same_path and same_path is not match and same_path.head:
            self.add_gone(same_path)
        if match is None or (not is_packed(path) and size < match.read_to):
            return FileCursor(path)
        return match.renamed(path) if match.path != path else match

    def add_gone(self, file: FileCursor) -> None:
        self.gone.append(replace(file, gone_cycle=self.cycle))

    def forget_missing(self, present: Iterable[str]) -> None:
        """Files that are no longer listed become ``gone``; they may return by another name."""
        for path in sorted(self.files.keys() - set(present)):
            self.add_gone(self.files.pop(path))
        self.gone = [
            file for file in self.gone if self.cycle - file.gone_cycle <= FORGET_GONE_AFTER_CYCLES
        ][-MAX_GONE:]


def fingerprint(head: bytes) -> str:
    return sha256(head).hexdigest()[:32]


def _file_cursor(entry: dict[str, Any]) -> FileCursor:
    names = {item.name for item in fields(FileCursor)}
    file = FileCursor(**{name: value for name, value in entry.items() if name in names})
    file.seen = [(int(ms), str(key), int(count)) for ms, key, count in file.seen]
    file.streams = [
        (str(envelope), str(process), str(stream), int(offset))
        for envelope, process, stream, offset in file.streams
    ]
    file.prefixes = [str(prefix) for prefix in file.prefixes]
    return file


def _without_defaults(file: FileCursor) -> dict[str, Any]:
    default = FileCursor("")
    return {
        name: value
        for name, value in asdict(file).items()
        if name == "path" or value != getattr(default, name)
    }
