"""Where checkpoints are copied from: read, never written to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingest.errors import Refused
from ingest.metadata.files import NAME, MetadataFile
from ingest.storage.directories import Kind, directories
from ingest.storage.roots import Root
from ingest.uris import Spellings, is_below

_CHECKPOINT = re.compile(r"chk-(\d{1,18})")


@dataclass(frozen=True)
class Found:
    """A checkpoint with a ``_metadata``. ``directory`` is canonical."""

    checkpoint_id: int
    directory: str
    bytes: int
    modified: datetime | None
    read_at: str

    def file(self) -> MetadataFile:
        return MetadataFile(f"{self.directory}/{NAME}", self.bytes, self.modified, read_at=self.read_at)


@dataclass(frozen=True)
class Origin:
    roots: Sequence[Root]
    spellings: Spellings

    def readable(self, path: str) -> str:
        """Where a canonical path is read. Raises :class:`Refused` for what is below no registered root."""
        within = [root for root in self.roots if is_below(path, root.uri)]
        if not within:
            raise Refused(f"{path} is below no registered storage root; register the root that it lies in, then replicate again.")
        return max(within, key=lambda root: len(root.uri)).readable(path)

    def checkpoints(self, source: str) -> Iterator[Found]:
        """Newest first. Raises ``OSError`` where the directory cannot be listed."""
        listable = directories(self.readable(source))
        try:
            numbered = [(int(match[1]), entry.name) for entry in listable.entries("") if (match := _CHECKPOINT.fullmatch(entry.name))]
        except FileNotFoundError:
            return
        for checkpoint_id, name in sorted(numbered, reverse=True):
            directory = f"{source}/{name}"
            try:
                entries = [entry for entry in listable.entries(f"/{name}") if entry.name == NAME and entry.kind is Kind.FILE]
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                yield Found(checkpoint_id, directory, entry.bytes, entry.modified, f"{self.readable(directory)}/{NAME}")
