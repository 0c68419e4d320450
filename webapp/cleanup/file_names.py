"""Identifies files by name alone: Flink's names are UUIDs, each used once. So a reference is found
even under another name of its directory (another mount, authority, or case). A ``_metadata`` is
identified by its name with the directories of its checkpoint and job.
"""

import re
from collections.abc import Iterable, Set

import pyarrow as pa
import pyarrow.compute as pc

_JOB = re.compile("[0-9a-f]{32}")
_OF_JOB = re.compile(r".*/([0-9a-f]{32}/.+)\Z", re.DOTALL)


def names_of(paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    names = pc.replace_substring_regex(paths, r"(?s)^.*/", "")
    is_metadata = pc.equal(names, "_metadata")
    if pc.any(is_metadata).as_py():
        names = pc.if_else(
            is_metadata,
            pc.replace_substring_regex(paths, r"(?s)^.*/([^/]*/[^/]*/_metadata)$", r"\1"),
            names,
        )
    return pc.utf8_lower(names)


def name_of(path: str) -> str:
    name = path.rpartition("/")[2]
    return ("/".join(path.split("/")[-3:]) if name == "_metadata" else name).lower()


def below_job(folder: str) -> str:
    """The path from the directory of a job on, or else the whole path; in lower case."""
    match = _OF_JOB.search(folder.lower())
    return match[1] if match else folder.lower()


class PlaceMatcher:
    """Matches files by ``places``: directories, or job ids in any directory."""

    def __init__(self, places: Iterable[str]) -> None:
        places = set(places)
        self._jobs = {place for place in places if "/" not in place}
        self._directories = places - self._jobs
        self._parents = {parent for place in self._directories for parent in _parents(place)}

    def among(self, paths: pa.Array | pa.ChunkedArray) -> set[str]:
        """Files below a directory, below the job's directory that contains it, or of a job."""
        return {path for path in paths.to_pylist() if self._matches(path)}

    def _matches(self, path: str) -> bool:
        if not self._directories and not self._jobs:
            return False
        parents = _parents(path)
        jobs = {parent: parent.rpartition("/")[2] for parent in parents}
        jobs = {parent: name for parent, name in jobs.items() if _JOB.fullmatch(name)}
        return bool(
            self._directories.intersection(parents)
            or self._parents.intersection(jobs)
            or self._jobs.intersection(jobs.values())
        )


def places_of(paths: pa.Array | pa.ChunkedArray, places: Iterable[str]) -> set[str]:
    """The ``places`` (directories or job ids) that contain one of the files."""
    parents = {parent for path in paths.to_pylist() for parent in _parents(path)}
    return set(places) & {
        name for parent in parents for name in (parent, parent.rpartition("/")[2])
    }


def below(paths: pa.Array | pa.ChunkedArray, directories: Set[str]) -> set[str]:
    if not directories:
        return set()
    return {path for path in paths.to_pylist() if not directories.isdisjoint(_parents(path))}


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
