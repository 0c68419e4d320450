"""Reads the files of a plan; every byte is verified by hash before it is used."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.beneath import LeadsElsewhere
from ingest.parquet_stream import ParquetStream
from ingest.storage.plan_folder import PlanFolder
from webapp.cleanup import manifest as manifests
from webapp.cleanup.entries import CHUNK_ROWS, SCHEMA
from webapp.cleanup.errors import PlanDamaged
from webapp.cleanup.manifest import PartEntry, PlanManifest

if TYPE_CHECKING:
    from webapp.cleanup.models import CleanupPlan


@dataclass(frozen=True)
class Chunk:
    """Up to 1,000 files of one part; ``number`` counts through the whole plan. ``is_metadata``: the
    files are ``_metadata`` of waste checkpoints.
    """

    number: int
    rows: pa.Table
    is_metadata: bool


class PlanReader:
    def __init__(self, folder: PlanFolder, name: str) -> None:
        self.folder, self.name = folder, name

    @cached_property
    def manifest(self) -> PlanManifest:
        """The verified manifest. Raises :class:`PlanDamaged`."""
        try:
            return manifests.read(self.folder.read(manifests.FILE_NAME), self.name)
        except FileNotFoundError as error:
            raise PlanDamaged(
                f"The files of plan {self.name[:12]} are gone from {self.folder.uri}. Make a new "
                "plan."
            ) from error

    def part(self, number: int) -> pa.Table:
        """Raises :class:`PlanDamaged` if a byte differs from the plan."""
        entry = self.manifest.parts[number]
        try:
            content = self.folder.read(entry.name)
        except FileNotFoundError as error:
            raise self._damaged(entry, "is gone") from error
        except LeadsElsewhere as error:
            raise self._damaged(entry, "was replaced by a link") from error
        if hashlib.sha256(content).hexdigest() != entry.sha256:
            raise self._damaged(entry, "was changed after the plan was made")
        rows = ParquetStream(pa.BufferReader(content)).read()
        if rows.schema.names != SCHEMA.names or rows.num_rows != entry.rows:
            raise self._damaged(entry, "is not a part of a plan of this Weir")
        return rows

    def _damaged(self, entry: PartEntry, why: str) -> PlanDamaged:
        return PlanDamaged(f"{entry.name} of plan {self.name[:12]} {why}. Make a new plan.")

    def parts(self) -> Iterator[pa.Table]:
        return (self.part(number) for number in range(len(self.manifest.parts)))

    def rows(self) -> Iterator[dict[str, Any]]:
        for part in self.parts():
            for batch in part.to_batches(1_000):
                yield from batch.to_pylist()

    def verify(self) -> None:
        for _ in self.parts():
            pass

    def chunks(self, *, backwards: bool = False) -> Iterator[Chunk]:
        """All chunks in order; ``backwards`` for an undo, so that ``_metadata`` come back last."""
        numbered = list(enumerate(self._first_chunks()))
        for part, first in reversed(numbered) if backwards else numbered:
            rows = self.part(part)
            indexes = range(self.manifest.parts[part].chunks)
            for index in reversed(indexes) if backwards else indexes:
                yield Chunk(
                    first + index,
                    rows.slice(index * CHUNK_ROWS, CHUNK_ROWS),
                    part < self.manifest.metadata_parts,
                )

    def page(self, chunk: int) -> list[dict[str, Any]]:
        """Files of one chunk for display, unverified. Raises ``IndexError``."""
        for part, first in enumerate(self._first_chunks()):
            if first <= chunk < first + self.manifest.parts[part].chunks:
                with self.folder.open(self.manifest.parts[part].name) as stream:
                    rows: list[dict[str, Any]] = (
                        ParquetStream(stream).read_row_group(chunk - first).to_pylist()
                    )
                    return rows
        raise IndexError(chunk)

    def chunk_of(self, path: str) -> int | None:
        """The chunk that lists the file, or None. Raises :class:`PlanDamaged`."""
        for part, first in enumerate(self._first_chunks()):
            if self.manifest.parts[part].first_path <= path <= self.manifest.parts[part].last_path:
                row = pc.index(self.part(part)["path"], path).as_py()
                if row >= 0:
                    return int(first + row // CHUNK_ROWS)
        return None

    def _first_chunks(self) -> list[int]:
        return list(accumulate((part.chunks for part in self.manifest.parts), initial=0))[:-1]


def reader_of(plan: "CleanupPlan") -> PlanReader:
    return PlanReader(PlanFolder(plan.folder), plan.name or "")
