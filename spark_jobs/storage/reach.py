"""The reach of a doubt: job directories with files that the hidden thing may need. A checkpoint
refers to files of its job and the job's origins; if these are unknown, perhaps to any file, and the
doubt reaches all roots.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.storage.layout_columns import METADATA_SUFFIX
from spark_jobs.storage.lineage import Origins
from spark_jobs.storage.plain import Key, Row, RowList, is_below
from spark_jobs.storage_words import ALL_ROOTS, JOB_DIRECTORY, JOBS, PREFIX, REACHES

_ORDER = {code: place for place, code in enumerate(REACHES)}


@dataclass(frozen=True)
class Reach:
    """``directories``: reaches all files below, or in the job directory around them. ``job_ids``:
    all directories of these jobs.
    """

    code: str
    directories: frozenset[str] = frozenset()
    job_ids: frozenset[str] = frozenset()

    def __or__(self, other: "Reach") -> "Reach":
        return Reach(
            max(self.code, other.code, key=_ORDER.__getitem__),
            self.directories | other.directories,
            self.job_ids | other.job_ids,
        )

    def covers_root(self, root: str) -> bool:
        return self.code == ALL_ROOTS or any(
            root == directory or is_below(root, directory) for directory in self.directories
        )

    @property
    def places(self) -> list[str]:
        return [*sorted(self.directories), *sorted(self.job_ids)]


EVERYTHING = Reach(ALL_ROOTS)


def below(*directories: str) -> Reach:
    return Reach(PREFIX, frozenset(directories))


def in_directory(directory: str) -> Reach:
    return Reach(JOB_DIRECTORY, frozenset([directory]))


def of_jobs(job_ids: Iterable[str], *directories: str) -> Reach:
    return Reach(JOBS, frozenset(directories), frozenset(job_ids))


@dataclass(frozen=True)
class Reaches:
    """Makes reaches. ``dead``: directories of jobs attested dead. Nobody restores from these, so
    they keep only their own files.
    """

    origins: Origins
    dead: Mapping[Key, int]

    def of_job(self, audit_id: str, job_id: str | None, *directories: str) -> Reach:
        job_ids = None if job_id is None else self.origins.of(audit_id, job_id)
        return EVERYTHING if job_ids is None else of_jobs(job_ids, *directories)

    def of_metadata(self, doubt: Row, directory: str | None, job_id: str | None) -> Reach:
        """The reach of a ``_metadata`` not read to its end, by the jobs that it names."""
        audit_id, named_jobs = doubt["audit_id"], doubt.get("named_jobs")
        if (audit_id, directory) in self.dead:
            return in_directory(str(directory))
        directories = [doubt["subject"].removesuffix(METADATA_SUFFIX)]
        if directory:
            directories.append(directory)
        if doubt["reason"] == "empty_metadata":
            return in_directory(directories[-1])
        if doubt["reason"] == "incomplete_metadata":
            # The missing part may name any origin of its job.
            return self.of_job(audit_id, job_id, *directories) | of_jobs(named_jobs or ())
        if named_jobs:
            return of_jobs(named_jobs, *directories)
        return self.of_job(audit_id, job_id, *directories)


class Index:
    """Directories by path and job; numbers are positions in ``file_directories``."""

    def __init__(self, file_directories: RowList) -> None:
        self._by_job: dict[Key, set[int]] = {}
        self._by_path: dict[Key, set[int]] = {}
        self._of_audit: dict[str, set[int]] = {}
        for number, row in enumerate(file_directories):
            audit_id = row["audit_id"]
            self._of_audit.setdefault(audit_id, set()).add(number)
            if row["job_directory"] is not None:
                self._by_job.setdefault((audit_id, row["job_id"]), set()).add(number)
                self._by_path.setdefault((audit_id, row["job_directory"]), set()).add(number)
        self._paths = sorted(self._by_path)

    def find(self, audit_id: str, reach: Reach) -> set[int]:
        if reach.code == ALL_ROOTS:
            return self._of_audit.get(audit_id, set())
        numbers: set[int] = set()
        for job_id in reach.job_ids:
            numbers |= self._by_job.get((audit_id, job_id), set())
        for directory in reach.directories:
            for path in (directory, *_parents(directory)):
                numbers |= self._by_path.get((audit_id, path), set())
            first = bisect_left(self._paths, (audit_id, f"{directory.rstrip('/')}/"))
            for key in self._paths[first:]:
                if key[0] != audit_id or not is_below(key[1], directory):
                    break
                numbers |= self._by_path[key]
        return numbers


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
