import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.errors import Refused
from ingest.metadata.files import NAME, MetadataFile
from ingest.storage.directories import Kind, directories
from ingest.storage.roots import Root
from ingest.uris import Spellings, is_below

_CHECKPOINT = re.compile(r"chk-(\d{1,18})")


@dataclass(frozen=True)
class Origin:
    """``withheld``: URIs of roots that the requester may not see."""

    roots: Sequence[Root]
    spellings: Spellings
    withheld: frozenset[str] = frozenset()

    def root_of(self, path: str) -> Root:
        """A canonical path's readable root. Raises Refused, without naming other roots."""
        root = max(
            (root for root in self.roots if is_below(path, root.uri)),
            key=lambda root: len(root.uri),
            default=None,
        )
        if root is None or root.uri in self.withheld:
            raise Refused(
                f"{path} is below no registered storage root that this copy may read. Register its "
                "root, or have somebody who sees every cluster of that root ask for the copy again "
                "(manage.py replicate, with its destination)."
            )
        return root

    def checkpoints(self, source: str) -> Iterator[tuple[int, MetadataFile]]:
        """Ids of the checkpoints in a canonical job directory and their _metadata, newest first.
        Raises OSError if it cannot be listed.
        """
        root = self.root_of(source)
        listable = directories(root.reading)
        below = root.readable(source).removeprefix(root.reading)
        try:
            numbered = [
                (int(match[1]), entry.name)
                for entry in listable.entries(below)
                if (match := _CHECKPOINT.fullmatch(entry.name))
            ]
        except FileNotFoundError:
            return
        for checkpoint_id, name in sorted(numbered, reverse=True):
            path = f"{source}/{name}/{NAME}"
            try:
                entries = [
                    entry
                    for entry in listable.entries(f"{below}/{name}")
                    if entry.name == NAME and entry.kind is Kind.FILE
                ]
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                yield (
                    checkpoint_id,
                    MetadataFile(
                        path, entry.bytes, entry.modified, root.readable(path), root.reading
                    ),
                )
