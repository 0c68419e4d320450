"""The reach of a doubt: the job directories whose only referrer it may hide. A checkpoint refers to
files of its own job and of the job's origins; if those are unknown, to anything: then the doubt
reaches all roots.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.storage.layout_columns import METADATA_SUFFIX
from spark_jobs.storage.lineage import Origins
from spark_jobs.storage.plain import Key, Row, is_below
from spark_jobs.storage_words import ALL_ROOTS, JOB_DIRECTORY, JOBS, PREFIX, REACHES

_ORDER = {code: place for place, code in enumerate(REACHES)}


@dataclass(frozen=True)
class Reach:
    """``directories``: all below them, or in the job directory around them. ``job_ids``: in any
    directory.
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
    """``dead``: directories of jobs that were attested to be dead. Their checkpoints are not
    restored: they only keep files of their own directory.
    """

    origins: Origins
    dead: Mapping[Key, int]

    def of_job(self, audit_id: str, job_id: str | None, *directories: str) -> Reach:
        """The reach of an unread checkpoint of this job."""
        family = None if job_id is None else self.origins.of(audit_id, job_id)
        return EVERYTHING if family is None else of_jobs(family, *directories)

    def of_metadata(self, doubt: Row, directory: str | None, job_id: str | None) -> Reach:
        """Of a partly read ``_metadata``, by the jobs that its bytes name."""
        audit_id, named = doubt["audit_id"], doubt.get("named_jobs")
        if (audit_id, directory) in self.dead:
            return in_directory(str(directory))
        own = [doubt["subject"].removesuffix(METADATA_SUFFIX), *([directory] if directory else [])]
        if doubt["reason"] == "empty_metadata":
            return in_directory(own[-1])
        if doubt["reason"] == "incomplete_metadata":
            # Only its job tells what it would have named.
            return self.of_job(audit_id, job_id, *own) | of_jobs(named or ())
        if named:
            return of_jobs(named, *own)
        return self.of_job(audit_id, job_id, *own)


class Index:
    """Job directories with files, by path and by job; ``held`` is numbered in its order."""

    def __init__(self, held: Sequence[Row]) -> None:
        self._by_job: dict[Key, set[int]] = {}
        self._by_path: dict[Key, set[int]] = {}
        self._of_audit: dict[str, set[int]] = {}
        for number, row in enumerate(held):
            audit_id = row["audit_id"]
            self._of_audit.setdefault(audit_id, set()).add(number)
            if row["job_directory"] is not None:
                self._by_job.setdefault((audit_id, row["job_id"]), set()).add(number)
                self._by_path.setdefault((audit_id, row["job_directory"]), set()).add(number)
        self._paths = sorted(self._by_path)

    def reached(self, audit_id: str, reach: Reach) -> set[int]:
        if reach.code == ALL_ROOTS:
            return self._of_audit.get(audit_id, set())
        numbers: set[int] = set()
        for job_id in reach.job_ids:
            numbers |= self._by_job.get((audit_id, job_id), set())
        for directory in reach.directories:
            for place in (directory, *_above(directory)):
                numbers |= self._by_path.get((audit_id, place), set())
            first = bisect_left(self._paths, (audit_id, f"{directory.rstrip('/')}/"))
            for key in self._paths[first:]:
                if key[0] != audit_id or not is_below(key[1], directory):
                    break
                numbers |= self._by_path[key]
        return numbers


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
