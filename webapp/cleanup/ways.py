from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Protocol

from ingest.storage.buckets import Bucket
from webapp.cleanup.choices import Way
from webapp.cleanup.in_place import Hiding, Tagging
from webapp.cleanup.journal import Row
from webapp.cleanup.moving import Moving
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run


class Mechanism(Protocol):
    """One way in which files wait. ``interrupted``: paths of an interrupted attempt; ``intended``:
    these paths with ids of versions.
    """

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        """Files that may be taken, with the version to journal; rows for all other files."""

    def take(self, files: Sequence[Planned]) -> list[Row]:
        """A row for each file."""

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        """Rows of the files that an interrupted attempt took."""

    def put_back(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        """A row for each file."""

    def purge(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        """A row for each file."""


def by_way(run: Run, files: Sequence[Planned]) -> Iterator[tuple[Mechanism, list[Planned]]]:
    """The files in groups of one root, each with the way of that root."""
    for _, group in groupby(files, key=lambda file: file.root):
        root_files = list(group)
        yield _way(run, root_files[0]), root_files


def each_way(
    run: Run, files: Sequence[Planned], act: Callable[[Mechanism, list[Planned]], list[Row]]
) -> list[Row]:
    return [row for way, root_files in by_way(run, files) for row in act(way, root_files)]


def _way(run: Run, file: Planned) -> Mechanism:
    if file.way == Way.DELETE_MARKER or file.way == Way.TAG:
        bucket = Bucket.of(file.source)
        if bucket is None:
            raise ValueError(f"{file.source} is in no bucket.")
        return Hiding(run, bucket) if file.way == Way.DELETE_MARKER else Tagging(run, bucket)
    return Moving(run, file.quarantine)


def way_in_place(read_at: str, *, waste: bool, grace: timedelta) -> Way | None:
    """How files can wait in place; ``None`` if they must be moved. Waste is not tagged, because
    tagged checkpoints stay readable and need their files. Nor are files tagged if versioning was
    suspended, because old versions would stay.
    """
    bucket = Bucket.of(read_at)
    if bucket is None:
        return None
    if bucket.keeps_versions(grace):
        return Way.DELETE_MARKER
    may_tag = not waste and not bucket.versioning()
    if may_tag and bucket.has_tags(f"{bucket.key(read_at)}/weir-asks-for-tags"):
        return Way.TAG
    return None
