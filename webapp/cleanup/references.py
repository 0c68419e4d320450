"""Finds references of retained checkpoints to planned files, and whether they still resolve."""

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

References = Mapping[str, Sequence[Reference]]
"""Name of a file (:mod:`webapp.cleanup.file_names`) → references to files of this name."""


def references_in(
    audit: FreshAudit, planned: PlannedPaths, waste_metadata: Collection[str] = ()
) -> References:
    """References to files with the name of a planned file: from all checkpoints that this audit
    read or earlier audits read last, except ``waste_metadata``.
    """
    by_name: dict[str, dict[str, Reference]] = {}
    waste = pa.array(sorted(waste_metadata), pa.string())
    files = (*audit.reference_files, *audit.pending_files)
    for batch in parquet_batches(files, ("metadata_path", "path")):
        batch = batch.filter(pc.invert(pc.is_in(batch["metadata_path"].cast("string"), waste)))
        paths = batch["path"].cast("string")
        is_planned = pc.is_in(paths, pa.array(planned.among(paths), pa.string()))
        for row in batch.filter(is_planned).to_pylist():
            reference = Reference(row["path"], row["metadata_path"])
            by_name.setdefault(name_of(row["path"]), {})[row["path"]] = reference
    return {name: list(references.values()) for name, references in by_name.items()}


@dataclass(frozen=True)
class Storage:
    """Resolves references where roots are read, and at local paths."""

    roots: Sequence[Root] = field(default_factory=tuple)

    def has(self, path: str, besides: str = "") -> bool | None:
        """Whether the file exists and differs from the one at ``besides``; ``None`` if unknown."""
        answers: list[bool | None] = []
        for place, within in dict.fromkeys(self._places(path)):
            try:
                answers.append(tree.exists(place, within) and not _is_same_file(place, besides))
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


def _is_same_file(place: str, other: str) -> bool:
    """Whether both places are the same file, also by a hard link."""
    if "://" in place or "://" in other or not other:
        return bool(other) and canonical(place) == canonical(other)
    with suppress(OSError):
        return Path(place).samefile(other)
    return False


def missed_references(
    references: References, moved: Mapping[str, Collection[str]], storage: Storage
) -> list[Reference]:
    """References that do not, or may not, resolve. ``moved``: name → places where files of this
    name wait for the purge, also in place.
    """
    return [
        reference
        for name, places in moved.items()
        for reference in references.get(name, ())
        if not all(storage.has(reference.path, besides=place) for place in places)
    ]
