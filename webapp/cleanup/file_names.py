"""Identifies files by name alone: Flink's names are UUIDs, each used once. So a reference is found
even under another name of its directory (another mount, authority, or case). A ``_metadata``, whose
name says nothing, is identified by the directories of its checkpoint and job as well.
"""

import re
from collections.abc import Iterable, Set

import pyarrow as pa
import pyarrow.compute as pc

_JOB = re.compile("[0-9a-f]{32}")
_OF_JOB = re.compile(r".*/([0-9a-f]{32}/.+)\Z", re.DOTALL)


def names_of(paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    last = pc.replace_substring_regex(paths, r"(?s)^.*/", "")
    metadata = pc.equal(last, "_metadata")
    if pc.any(metadata).as_py():
        last = pc.if_else(
            metadata,
            pc.replace_substring_regex(paths, r"(?s)^.*/([^/]*/[^/]*/_metadata)$", r"\1"),
            last,
        )
    return pc.utf8_lower(last)


def name_of(path: str) -> str:
    last = path.rpartition("/")[2]
    return ("/".join(path.split("/")[-3:]) if last == "_metadata" else last).lower()


def below_job(folder: str) -> str:
    """A folder from the directory of its job on, the last of that form; the whole of it where it
    has none.
    """
    match = _OF_JOB.search(folder.lower())
    return match[1] if match else folder.lower()


class Places:
    """Matches files by directory, or by job id in any directory."""

    def __init__(self, places: Iterable[str]) -> None:
        places = set(places)
        self._jobs = {place for place in places if "/" not in place}
        self._directories = places - self._jobs
        self._around = {above for place in self._directories for above in _above(place)}

    def among(self, paths: pa.Array | pa.ChunkedArray) -> set[str]:
        """Files below a directory, or in the directory of the job that it lies in."""
        return {path for path in paths.to_pylist() if self._holds(path)}

    def _holds(self, path: str) -> bool:
        if not self._directories and not self._jobs:
            return False
        above = _above(path)
        job_directories = [
            directory for directory in above if _JOB.fullmatch(directory.rpartition("/")[2])
        ]
        return bool(
            self._directories.intersection(above)
            or self._around.intersection(job_directories)
            or self._jobs.intersection(
                directory.rpartition("/")[2] for directory in job_directories
            )
        )


def met_places(paths: pa.Array | pa.ChunkedArray, places: Iterable[str]) -> set[str]:
    """Directories below which any of the files lies, and ids of jobs in whose directory."""
    wanted = set(places)
    above = {directory for path in paths.to_pylist() for directory in _above(path)}
    return wanted & {
        name for directory in above for name in (directory, directory.rpartition("/")[2])
    }


def below(paths: pa.Array | pa.ChunkedArray, directories: Set[str]) -> set[str]:
    if not directories:
        return set()
    return {path for path in paths.to_pylist() if not directories.isdisjoint(_above(path))}


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
