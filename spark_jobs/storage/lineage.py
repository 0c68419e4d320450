"""Lineage of jobs, and whose task-owned files a snapshot may still need."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

from ingest.flink_ids import is_given
from ingest.storage.layout import JOB_CHARS
from spark_jobs.storage.owners import JOB, SAVEPOINT, may_run, root_around
from spark_jobs.storage.plain import Key, Row, RowList, Rows, by, key_of, keys

_JOB_ID = ("audit_id", "job_id")
_GIVEN_PREFIXES = ("000000", "ffffff")
"""Prefixes of ids that were given: many jobs have the same."""


@dataclass(frozen=True)
class Family:
    """The jobs of an audit and their origins. ``sole_owners``: directories that only one job
    writes. ``unfound``: ``JOB`` keys of jobs whose last checkpoint was not found. ``dead``:
    directories of jobs attested dead. ``file_directories``: with files.
    """

    jobs: RowList
    restores: RowList
    chains: RowList
    sole_owners: RowList
    unfound: Set[Key]
    dead: Set[Key]
    file_directories: RowList

    @cached_property
    def by_prefix(self) -> dict[Key, list[Key]]:
        by_prefix: dict[Key, list[Key]] = {}
        for audit_id, job_id in keys([*self.file_directories, *self.jobs], *_JOB_ID):
            if audit_id is not None and job_id is not None:
                by_prefix.setdefault((audit_id, job_id[:6]), []).append((audit_id, job_id))
        return by_prefix

    @cached_property
    def written_directories(self) -> set[Key]:
        return keys(self.sole_owners, "audit_id", "job_directory")

    @cached_property
    def unknown_origins(self) -> set[Key]:
        unclear = (
            job
            for job in self.jobs
            if job["restore_unread"]
            or (job["restored_at"] is not None and job["restored_path"] is None)
        )
        restores = (job for job in self.restores if not self._shows_origin(job))
        return keys((*restores, *unclear), *_JOB_ID)

    def _shows_origin(self, job: Row) -> bool:
        """Whether the restore shows the job's origin. Only the last restore is known. It does
        not show it if its snapshot is the job's own, or of no known job.
        """
        audit_id, job_id, prefix = job["audit_id"], job["from_job_id"], job["from_prefix"]
        if job_id is None:
            return (
                prefix not in (None, *_GIVEN_PREFIXES)
                and not job["job_id"].startswith(prefix)
                and (audit_id, prefix) in self.by_prefix
            )
        is_distinguished = (
            not is_given(job_id)
            or (audit_id, job["from_job_directory"]) in self.written_directories
        )
        return bool(job_id != job["job_id"] and is_distinguished)

    @cached_property
    def origins(self) -> dict[Key, set[Key]]:
        origins: dict[Key, set[Key]] = {}
        for job in self.restores:
            audit_id, of_job = job["audit_id"], origins.setdefault(key_of(job, _JOB_ID), set())
            if job["from_job_id"] is not None:
                of_job.add((audit_id, job["from_job_id"]))
            of_job.update(self.by_prefix.get((audit_id, job["from_prefix"]), ()))
        for chain in self.chains:
            if chain["job_id"] is not None:
                of_job = origins.setdefault(key_of(chain, _JOB_ID), set())
                of_job.add((chain["audit_id"], chain["other_job_id"]))
        return origins


def needed_jobs(metadata: RowList, family: Family, roots: RowList) -> tuple[set[Key], set[str]]:
    """(audit_id, job_id) of jobs whose task-owned files may be needed, and the audits in which all
    may be: a snapshot is of an unknown or forgotten job, or a job stems from such a job.
    ``metadata``: all _metadata that may exist. Nobody restores from a dead job: its snapshots keep
    only its own files.
    """
    jobs, by_prefix = family.jobs, family.by_prefix
    of_dead = [row for row in metadata if (row["audit_id"], row["job_directory"]) in family.dead]
    metadata = [
        row for row in metadata if (row["audit_id"], row["job_directory"]) not in family.dead
    ]
    # Other jobs may also be restored from these snapshots, which are outside the roots.
    outside = [
        job
        for job in family.restores
        if root_around(job["audit_id"], job["restored_path"], roots) is None
    ]
    prefixes = {
        (row["audit_id"], named[1])
        for row in metadata
        if row["place"] == "savepoint" and (named := SAVEPOINT.search(row["path"]))
    } | {(job["audit_id"], job["from_prefix"]) for job in outside if job["from_prefix"] is not None}
    in_job = [row for row in metadata if row["job_id"] is not None]
    holders = {
        *keys(in_job, *_JOB_ID),
        *(job for prefix in prefixes for job in by_prefix.get(prefix, ())),
        *keys((job for job in outside if job["from_job_id"]), "audit_id", "from_job_id"),
        *keys(may_run(jobs), *_JOB_ID),
        *keys(family.chains, "audit_id", "other_job_id"),
        *((audit_id, job_id) for audit_id, _, job_id in family.unfound),
    }
    needed = with_ancestors(holders, family.origins)
    without_job = {
        row["audit_id"] for row in metadata if row["job_id"] is None and row["place"] != "savepoint"
    }
    # Several jobs may have an id that was given. A forgotten job only shows by its directory.
    of_unknown_writer = {
        row["audit_id"]
        for row in in_job
        if is_given(row["job_id"])
        and (row["audit_id"], row["job_directory"]) not in family.written_directories
    }
    ambiguous_savepoints = {
        audit_id
        for audit_id, prefix in prefixes
        if prefix in _GIVEN_PREFIXES or (audit_id, prefix) not in by_prefix
    }
    forgotten = {audit_id for audit_id, _ in needed - keys(jobs, *_JOB_ID)}
    from_unknown = {audit_id for audit_id, _ in needed & family.unknown_origins}
    needed |= keys(of_dead, *_JOB_ID)
    all_needed = without_job | of_unknown_writer | ambiguous_savepoints | forgotten | from_unknown
    return needed, all_needed


def needed_by_unfound(family: Family, read: Set[Key]) -> set[Key]:
    """(audit_id, job directory) to whose files a last checkpoint that was not found may refer,
    besides its own job's; a job id in place of the directory if that may be a copy. These are all
    origins of the job up to a checkpoint that was ``read`` (audit_id, directory): later ones refer
    to no other files of earlier jobs. If the origin is unknown, attestations do not count: all
    files of dead jobs are needed.
    """
    unread = [job for job in family.restores if (job["audit_id"], job["restored_path"]) not in read]
    by_job = by(unread, *_JOB_ID)
    pending = [job for job in unread if key_of(job, JOB) in family.unfound]
    origins, bounded = Origins(family), keys(family.restores, *JOB) - keys(pending, *JOB)
    unknown = {
        audit_id
        for audit_id, cluster, job_id in family.unfound
        if (audit_id, cluster, job_id) not in bounded and origins.of(audit_id, job_id) is None
    }
    needed: set[Key] = {place for place in family.dead if place[0] in unknown}
    while pending:
        job = pending.pop()
        audit_id, directory = job["audit_id"], job["from_job_directory"]
        if (audit_id, directory) in family.written_directories:
            places: Iterable[Key] = [(audit_id, directory)]
        elif directory is not None:
            places = [(audit_id, job["from_job_id"])]
        else:
            places = family.by_prefix.get((audit_id, job["from_prefix"]), ())
        for place in places:
            if place not in needed:
                needed.add(place)
                pending += [
                    origin
                    for origin in by_job.get((audit_id, place[1][-JOB_CHARS:]), ())
                    if place[1] != directory or origin["written_directory"] in (None, directory)
                ]
    return needed


class Origins:
    """A checkpoint only refers to files of its job and of the job's origins."""

    def __init__(self, family: Family) -> None:
        reported = (job for job in family.jobs if not job["recorded"])
        self._known = keys(reported, *_JOB_ID) - family.unknown_origins
        self._origins = family.origins

    def of(self, audit_id: str, job_id: str) -> Set[str] | None:
        """Ids of the job and its origins; None if an origin is unknown, or an id of several jobs."""
        line = with_ancestors([(audit_id, job_id)], self._origins)
        if not line <= self._known or any(is_given(ancestor) for _, ancestor in line):
            return None
        return {ancestor for _, ancestor in line}


def with_ancestors(jobs: Iterable[Key], origins: Mapping[Key, Iterable[Key]]) -> set[Key]:
    reached = set(jobs)
    pending = list(reached)
    while pending:
        new = [job for job in origins.get(pending.pop(), ()) if job not in reached]
        reached.update(new)
        pending += new
    return reached


def chain_rows(chains: Rows, restores: Rows, sole_owners: Rows, roots: RowList) -> list[Row]:
    refers = [
        chain
        | {
            "directory": chain["job_directory"],
            "other_directory": chain["other_job_directory"],
            "kind": "refers",
        }
        for chain in chains
        if chain["job_directory"] is not None
    ]
    homes = by(sole_owners, *JOB)
    names = ("audit_id", "directory", "job_id", "other_directory", "other_job_id")
    pairs = set()
    for job in restores:
        if job["from_job_directory"] is not None:
            origin = job["from_job_directory"], job["from_job_id"]
            directories = [home["job_directory"] for home in homes.get(key_of(job, JOB), ())]
            for directory in directories or [""]:
                if directory != job["from_job_directory"]:
                    pairs.add((job["audit_id"], directory, job["job_id"], *origin))
    nothing = {"files": 0, "bytes": 0, "checkpoints": 0, "kind": "restored_from"}
    restored = (dict(zip(names, pair, strict=True)) | nothing for pair in sorted(pairs))
    return refers + [
        row | {"root": root_around(row["audit_id"], row["other_directory"], roots) or ""}
        for row in restored
    ]
