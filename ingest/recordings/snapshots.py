"""``_metadata`` kept in a recording (``ckpt/``, ``sp/``): those that show what restores and
savepoints cost, and full sizes before 1.15.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.errors import Skipped
from ingest.metadata.evidence import SOURCE, rows_of
from ingest.metadata.files import NAME, MetadataFile
from ingest.metadata.snapshot_selection import SnapshotSelection
from ingest.records import Checkpoint, Observed, Record, Skip
from ingest.regular_files import open_regular
from ingest.uris import BadUri, canonical

MOST_FILE_BYTES = 64 * 1024 * 1024
_FOLDERS = ("ckpt", "sp")


class Snapshots:
    def __init__(self, directory: Path, cluster: str) -> None:
        self._cluster, self._directory = cluster, directory
        self._selection = SnapshotSelection()
        files = (
            path
            for folder in _FOLDERS
            for path in sorted((directory / folder).rglob(NAME))
            if _lies_in(directory, path)
        )
        self._files = {_key(path.parent.as_posix()): path for path in files}
        self._sized: set[str] = set()

    def beside(self, observed: Sequence[Observed]) -> Iterator[tuple[Observed, int]]:
        """Readings of files that those of one poll make worth reading, dated like its last, and the
        bytes read for each.
        """
        if not self._files or not observed:
            return
        at = max(reading.observed_at for reading in observed)
        chosen = self._selection.wanted(observed)
        self._sized.update(chosen)
        for snapshot in (*chosen, *self._without_full_size(observed)):
            path = self._files.get(_key(snapshot))
            if path is not None:
                records, size = self._read(path, snapshot)
                yield (
                    Observed(
                        self._cluster, at, SOURCE, records if snapshot in chosen else records[-1:]
                    ),
                    size,
                )

    def _without_full_size(self, observed: Sequence[Observed]) -> list[str]:
        records = (
            record
            for reading in observed
            for record in reading.records
            if isinstance(record, Checkpoint)
        )
        completed = (
            record for record in records if record.status == "COMPLETED" and not record.is_savepoint
        )
        paths = (
            record.external_path
            for record in completed
            if record.external_path and record.checkpointed_bytes is None
        )
        unsized = [path for path in dict.fromkeys(paths) if path not in self._sized]
        self._sized.update(unsized)
        return unsized

    def _read(self, path: Path, snapshot: str) -> tuple[tuple[Record, ...], int]:
        try:
            size = path.stat().st_size
            # When the copy was made says nothing of the file.
            written = f"{canonical(snapshot).removesuffix(f'/{NAME}')}/{NAME}"
            file = MetadataFile(written, size, None, str(path), str(self._directory))
            return tuple(rows_of(file, MOST_FILE_BYTES)), size
        except (Skipped, BadUri, OSError) as error:
            return (
                Skip(
                    str(path),
                    "bad_metadata" if isinstance(error, Skipped) else "unreadable_file",
                    str(error),
                ),
            ), 0


def _lies_in(directory: Path, path: Path) -> bool:
    """A regular file of the recording itself; a link out of it is none."""
    try:
        open_regular(path, within=directory).close()
    except OSError:
        return False
    return True


def _key(directory: str) -> str:
    parts = directory.rstrip("/").removesuffix(f"/{NAME}").split("/")
    return "/".join(parts[-2:] if parts[-1].startswith("chk-") else parts[-1:])
