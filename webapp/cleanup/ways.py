"""How files of each root wait before the purge; chosen when the plan is made."""

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


class Taking(Protocol):
    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        """Files that may be taken, with what to journal before; rows for the others."""

    def take(self, files: Sequence[Planned]) -> list[Row]:
        """A row for each."""

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        """Rows of files that an interrupted try took, out of ``intended``."""

    def put_back(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        """A row for each; ``tried`` are paths of an interrupted try."""

    def purge(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        """A row for each; ``tried`` are paths of an interrupted try."""


def by_way(run: Run, files: Sequence[Planned]) -> Iterator[tuple[Taking, list[Planned]]]:
    for _, own in groupby(files, key=lambda file: file.root):
        of_root = list(own)
        yield _way(run, of_root[0]), of_root


def each_way(
    run: Run, files: Sequence[Planned], act: Callable[[Taking, list[Planned]], list[Row]]
) -> list[Row]:
    return [row for way, own in by_way(run, files) for row in act(way, own)]


def _way(run: Run, file: Planned) -> Taking:
    if file.way == Way.DELETE_MARKER or file.way == Way.TAG:
        bucket = Bucket.of(file.source)
        if bucket is None:
            raise ValueError(f"{file.source} is in no bucket.")
        return Hiding(run, bucket) if file.way == Way.DELETE_MARKER else Tagging(run, bucket)
    return Moving(run, file.quarantine)


def way_in_place(read_at: str, *, waste: bool, grace: timedelta) -> Way | None:
    """How files can wait in place; ``None`` if they must be moved. Tags leave files readable, so
    waste checkpoints would still need theirs. A bucket with suspended versioning would keep files
    deleted without a version. Raises ``OSError`` if the store does not answer.
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
