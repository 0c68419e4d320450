"""Finds checkpoints that appear while a plan is carried out, and reads their ``_metadata``.

1. ``begin`` lists every ``_metadata`` before the fresh audit, which reads these.
2. ``look`` reads new and changed ``_metadata`` and keeps references to planned files.
3. If a ``_metadata`` cannot be read, or a directory cannot be listed, the plan stops.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ingest.errors import IngestError
from ingest.metadata import columns
from ingest.metadata.dialects import MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.unread import content_of
from ingest.uris import PLAIN, Spellings, canonical_column
from webapp.cleanup.errors import Halted
from webapp.cleanup.file_names import below_job, name_of, names_of

TRIES, TRY_AGAIN_S = 4, 1.0
"""While a file is being written, it is incomplete for a moment."""

ListMetadata = Callable[[], Iterator[MetadataFile]]


class PlannedPaths:
    """Hashes of all file names of a plan, 8 bytes each."""

    def __init__(self, paths: Iterator[pa.Array | pa.ChunkedArray]) -> None:
        hashes = [_hashes(names_of(column)) for column in paths]
        self._sorted = np.sort(np.concatenate(hashes)) if hashes else np.empty(0, np.int64)

    def among(self, paths: pa.Array) -> list[str]:
        """Paths with the name of a planned file, in any directory. One in 10^12 has only the same
        hash.
        """
        if not len(self._sorted) or not len(paths):
            return []
        hashes = _hashes(names_of(paths))
        indexes = np.minimum(np.searchsorted(self._sorted, hashes), len(self._sorted) - 1)
        matching: list[str] = paths.filter(pa.array(self._sorted[indexes] == hashes)).to_pylist()
        return matching


@dataclass(frozen=True)
class Reference:
    """A reference to the canonical ``path`` in the ``_metadata`` at ``by``."""

    path: str
    by: str

    def __str__(self) -> str:
        return f"{self.path} by {self.by}"


class Watch:
    """``referred``: new references to planned files, as name of the file → path → ``_metadata``.
    ``appeared``: ``_metadata`` that are new or changed since :meth:`begin`.
    """

    def __init__(
        self,
        list_metadata: ListMetadata,
        planned: PlannedPaths,
        spellings: Spellings = PLAIN,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._list, self.planned, self._spellings = list_metadata, planned, spellings
        self._clock, self._sleep = clock, sleep
        self._known: dict[str, tuple[object, object]] = {}
        self._next_look = 0.0
        self.referred: dict[str, dict[str, str]] = {}
        self.appeared: set[str] = set()
        self._folders: dict[str, str] = {}

    def begin(self) -> None:
        self._known = {file.path: (file.size, file.modified) for file in self._listed()}
        self.appeared.clear()
        self._next_look = 0.0

    def look(self, *, at_once: bool = False) -> None:
        """Looking takes at most half of the time: after a search, calls without ``at_once`` do
        nothing for as long as it took.
        """
        began = self._clock()
        if began < self._next_look and not at_once:
            return
        for file in self._listed():
            if self._known.get(file.path) != (file.size, file.modified):
                self.read(file)
                self.appeared.add(file.path)
                self._known[file.path] = (file.size, file.modified)
        ended = self._clock()
        self._next_look = ended + (ended - began)

    def read(self, file: MetadataFile) -> None:
        """Keeps references to planned files. Raises :class:`Halted` if the file cannot be read."""
        for tries_left in reversed(range(TRIES)):
            try:
                for batch in columns.batches(file.pieces()):
                    self._keep(batch, file.path)
            except FileNotFoundError:
                return
            except (MetadataError, OSError) as error:
                if _is_foreign(file):
                    return
                if tries_left:
                    self._sleep(TRY_AGAIN_S)
                    continue
                raise Halted(
                    f"{file.path} appeared in between and cannot be read ({error}); it may refer "
                    "to anything."
                ) from error
            return

    def referrer_of(self, path: str) -> str | None:
        name = name_of(path)
        if name in self.referred:
            return next(iter(self.referred[name].values()))
        if not self._folders:
            return None
        spellings = (below_job(path), path.lower())
        return next(
            (
                by
                for folder, by in self._folders.items()
                if any(spelling.startswith(f"{folder}/") for spelling in spellings)
            ),
            None,
        )

    def references(self, name: str) -> list[Reference]:
        return [Reference(path, by) for path, by in self.referred.get(name, {}).items()]

    def _keep(self, batch: pa.RecordBatch, by: str) -> None:
        for path in self.planned.among(self._canonical(batch["path"], by)):
            self.referred.setdefault(name_of(path), {}).setdefault(path, by)
        for name in ("task_owned_directory", "shared_directory"):
            # A checkpoint does not name the files of these directories: all count as needed.
            for folder in self._canonical(batch[name], by).unique().to_pylist():
                self._folders.setdefault(below_job(folder), by)
                self._folders.setdefault(folder.lower(), by)

    def _canonical(self, paths: pa.Array, by: str) -> pa.Array:
        column = canonical_column(paths.drop_null(), self._spellings)
        if column.null_count:
            raise Halted(
                f"{by} appeared in between and refers to a path that has no unambiguous spelling."
            )
        return column

    def _listed(self) -> Sequence[MetadataFile]:
        try:
            return list(self._list())
        except (OSError, IngestError) as error:
            raise Halted(
                f"A directory that may hold new checkpoints cannot be listed ({error})."
            ) from error


def _is_foreign(file: MetadataFile) -> bool:
    """Whether the file is certainly no checkpoint, such as Parquet's ``_metadata``."""
    try:
        return content_of(file).is_foreign
    except (OSError, ValueError):
        return False


def _hashes(paths: pa.Array | pa.ChunkedArray) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.fromiter(map(hash, paths.to_pylist()), np.int64, len(paths))
