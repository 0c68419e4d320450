"""References of retained checkpoints to planned files, under any name of the directory, and whether
they still resolve.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage import tree
from ingest.storage.roots import Root, local_path
from ingest.uris import canonical, is_below
from webapp.cleanup.file_names import name_of
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.watching import PlannedPaths, Reference
from webapp.work.run_files import parquet_batches

BATCH_ROWS = 50_000


References = Mapping[str, Sequence[Reference]]
"""By the name of the file."""


def references_in(
    audit: FreshAudit, planned: PlannedPaths, leaving: Collection[str] = ()
) -> References:
    """To files with a name of the plan: of any checkpoint that the audit read, but those that are
    ``leaving``, and of those of earlier audits that nobody knows to be needed no more.
    """
    references_by_path: dict[str, dict[str, Reference]] = {}
    going = pa.array(sorted(leaving), pa.string())
    files = (*audit.reference_files, *audit.pending_files)
    for batch in parquet_batches(files, BATCH_ROWS, ("metadata_path", "path")):
        batch = batch.filter(pc.invert(pc.is_in(batch["metadata_path"].cast("string"), going)))
        paths = batch["path"].cast("string")
        met = pc.is_in(paths, pa.array(planned.among(paths), pa.string()))
        for row in batch.filter(met).to_pylist():
            references_by_path.setdefault(name_of(row["path"]), {})[row["path"]] = Reference(
                row["path"], row["metadata_path"]
            )
    return {name: list(references.values()) for name, references in references_by_path.items()}


@dataclass(frozen=True)
class Storage:
    """Resolves references: at every place where a known root is read, and at the path itself if it
    is local.
    """

    roots: Sequence[Root] = field(default_factory=tuple)

    def has(self, path: str, besides: str = "") -> bool | None:
        """Whether the file exists and differs from the one at ``besides``; ``None`` if unknown."""
        answers: list[bool | None] = []
        for place, within in dict.fromkeys(self._places(path)):
            try:
                answers.append(tree.exists(place, within) and not _is_one(place, besides))
            except tree.TreeError:
                answers.append(None)
        if any(answers):
            return True
        return None if None in answers or not answers else False

    def _places(self, path: str) -> Iterator[tuple[str, str | None]]:
        within = [root for root in self.roots if is_below(path, root.uri)]
        yield from ((root.readable(path), root.reading) for root in within)
        if path.startswith("file:"):
            yield local_path(path), None
        elif not within:
            yield path, None


def _is_one(place: str, other: str) -> bool:
    """Whether two places are one file; hard links count as one."""
    if "://" in place or "://" in other or not other:
        return bool(other) and canonical(place) == canonical(other)
    with suppress(OSError):
        return Path(place).samefile(other)
    return False


def missed(
    references: References, gone: Mapping[str, Collection[str]], storage: Storage
) -> list[Reference]:
    """References to files of these names that do not resolve, or may not. ``gone``: name → places
    where such files wait for the purge, also in place.
    """
    return [
        reference
        for name, places in gone.items()
        for reference in references.get(name, ())
        if not all(storage.has(reference.path, besides=place) for place in places)
    ]
