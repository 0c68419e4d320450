"""The lineage of jobs, and whose task-owned files a retained snapshot may still need."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from ingest.flink_ids import is_given
from ingest.storage.layout import JOB_CHARS
from spark_jobs.storage.owners import JOB, SAVEPOINT, may_run, root_around
from spark_jobs.storage.plain import Key, Row, by, key_of, keys

_JOB_ID = ("audit_id", "job_id")
_GIVEN_PREFIXES = ("000000", "ffffff")
"""Of jobs whose ids were given: many jobs have the same."""


@dataclass(frozen=True)
class Family:
    """What is known of jobs: their origins, their directories (``sole``), those whose last
    checkpoint was not found, and directories of jobs attested to be ``dead``. ``held``: directories
    with files.
    """

    jobs: Sequence[Row]
    restores: Sequence[Row]
    chains: Sequence[Row]
    sole: Sequence[Row]
    unfound: Set[Key]
    dead: Set[Key]
    held: Sequence[Row]

    @cached_property
    def of_prefix(self) -> dict[Key, list[Key]]:
        """Jobs by the part of their ids in a savepoint's name."""
        of_prefix: dict[Key, list[Key]] = {}
        for audit_id, job_id in keys([*self.held, *self.jobs], "audit_id", "job_id"):
            if audit_id is not None and job_id is not None:
                of_prefix.setdefault((audit_id, job_id[:6]), []).append((audit_id, job_id))
        return of_prefix

    @cached_property
    def written(self) -> set[Key]:
        return keys(self.sole, "audit_id", "job_directory")

    @cached_property
    def unknown_origins(self) -> set[Key]:
        unknown_origins = [
            *(job for job in self.restores if not self._tells_origin(job)),
            *(job for job in self.jobs if job["restore_unread"]),
            *(
                job
                for job in self.jobs
                if job["restored_at"] is not None and job["restored_path"] is None
            ),
        ]
        return keys(unknown_origins, "audit_id", "job_id")

    def _tells_origin(self, job: Row) -> bool:
        """Only the last restore is known: after one from an own snapshot, or from one without a
        job, the origin is unknown.
        """
        audit_id, job_id, prefix = job["audit_id"], job["from_job_id"], job["from_prefix"]
        if job_id is None:
            return (
                prefix not in (None, *_GIVEN_PREFIXES)
                and not job["job_id"].startswith(prefix)
                and (audit_id, prefix) in self.of_prefix
            )
        is_distinguished = (
            not is_given(job_id) or (audit_id, job["from_job_directory"]) in self.written
        )
        return bool(job_id != job["job_id"] and is_distinguished)

    @cached_property
    def above(self) -> dict[Key, set[Key]]:
        """Job → those it stems from, by restores or references."""
        above: dict[Key, set[Key]] = {}
        for job in self.restores:
            audit_id, origins = job["audit_id"], above.setdefault(key_of(job, _JOB_ID), set())
            if job["from_job_id"] is not None:
                origins.add((audit_id, job["from_job_id"]))
            origins.update(self.of_prefix.get((audit_id, job["from_prefix"]), ()))
        for chain in self.chains:
            if chain["job_id"] is not None:
                origins = above.setdefault(key_of(chain, _JOB_ID), set())
                origins.add((chain["audit_id"], chain["other_job_id"]))
        return above


def needed_jobs(
    metadata: Sequence[Row], family: Family, roots: Sequence[Row]
) -> tuple[set[Key], set[str]]:
    """(audit_id, job_id) of jobs whose task-owned files may be needed, and the audits where those
    of all may be: a snapshot is there whose job is unknown or forgotten, or a job stems from such a
    one, or from an unknown place.

    ``metadata``: all that may be there. Nobody restores from those of a dead job: they keep its own
    files alone.
    """
    jobs, of_prefix = family.jobs, family.of_prefix
    of_dead = [row for row in metadata if (row["audit_id"], row["job_directory"]) in family.dead]
    metadata = [
        row for row in metadata if (row["audit_id"], row["job_directory"]) not in family.dead
    ]
    # Another job may be restored from there, though nothing else is known of the place.
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
        *(job for prefix in prefixes for job in of_prefix.get(prefix, ())),
        *keys((job for job in outside if job["from_job_id"]), "audit_id", "from_job_id"),
        *keys(may_run(jobs), *_JOB_ID),
        *keys(family.chains, "audit_id", "other_job_id"),
        *((audit_id, job_id) for audit_id, _, job_id in family.unfound),
    }
    needed = ancestors(holders, family.above)
    unowned = {
        row["audit_id"] for row in metadata if row["job_id"] is None and row["place"] != "savepoint"
    }
    # Others may have an id that was given: of those that nobody remembers, the directory alone
    # tells.
    of_others = {
        row["audit_id"]
        for row in in_job
        if is_given(row["job_id"]) and (row["audit_id"], row["job_directory"]) not in family.written
    }
    of_any = {
        audit_id
        for audit_id, prefix in prefixes
        if prefix in _GIVEN_PREFIXES or (audit_id, prefix) not in of_prefix
    }
    forgotten = {audit_id for audit_id, _ in needed - keys(jobs, *_JOB_ID)}
    from_unknown = {audit_id for audit_id, _ in needed & family.unknown_origins}
    needed |= keys(of_dead, *_JOB_ID)
    return needed, unowned | of_others | of_any | forgotten | from_unknown


def needed_by_unfound(family: Family, read: Set[Key]) -> set[Key]:
    """(audit_id, job directory, or job id where that directory may be another one's copy) of what a
    last checkpoint that nobody found may refer to besides the files of its own job: all that the
    job stems from, up to a checkpoint that was ``read`` (audit_id, directory): no later one refers
    to more of what came before that.

    Where nobody knows from whom it stems, attestations of dead jobs do not count: all that those
    left is needed.
    """
    unread = [job for job in family.restores if (job["audit_id"], job["restored_path"]) not in read]
    of_job = by(unread, *_JOB_ID)
    left = [job for job in unread if key_of(job, JOB) in family.unfound]
    origins, bounded = Origins(family), keys(family.restores, *JOB) - keys(left, *JOB)
    unknown = {
        audit_id
        for audit_id, cluster, job_id in family.unfound
        if (audit_id, cluster, job_id) not in bounded and origins.of(audit_id, job_id) is None
    }
    needed: set[Key] = {place for place in family.dead if place[0] in unknown}
    while left:
        job = left.pop()
        audit_id, directory = job["audit_id"], job["from_job_directory"]
        if (audit_id, directory) in family.written:
            places: Iterable[Key] = [(audit_id, directory)]
        elif directory is not None:
            places = [(audit_id, job["from_job_id"])]
        else:
            places = family.of_prefix.get((audit_id, job["from_prefix"]), ())
        for place in places:
            if place not in needed:
                needed.add(place)
                left += [
                    other
                    for other in of_job.get((audit_id, place[1][-JOB_CHARS:]), ())
                    if place[1] != directory or other["written_directory"] in (None, directory)
                ]
    return needed


class Origins:
    """The origins of jobs: besides its own files, a checkpoint only refers to files of these."""

    def __init__(self, family: Family) -> None:
        reported = (job for job in family.jobs if not job["recorded"])
        self._known = keys(reported, *_JOB_ID) - family.unknown_origins
        self._above = family.above

    def of(self, audit_id: str, job_id: str) -> Set[str] | None:
        """Ids of the job and its origins; None if one is unknown, or others may have its id."""
        line = ancestors([(audit_id, job_id)], self._above)
        if not line <= self._known or any(is_given(ancestor) for _, ancestor in line):
            return None
        return {ancestor for _, ancestor in line}


def ancestors(holders: Iterable[Key], above: Mapping[Key, Iterable[Key]]) -> set[Key]:
    """With ``holders`` themselves."""
    reached = set(holders)
    left = list(reached)
    while left:
        new = [job for job in above.get(left.pop(), ()) if job not in reached]
        reached.update(new)
        left += new
    return reached


def chain_rows(
    chains: Iterable[Row], restores: Iterable[Row], sole: Iterable[Row], roots: Sequence[Row]
) -> list[Row]:
    """``storage_chain``."""
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
    homes = by(sole, *JOB)
    names = ("audit_id", "directory", "job_id", "other_directory", "other_job_id")
    ends = {
        (job["audit_id"], directory, job["job_id"], job["from_job_directory"], job["from_job_id"])
        for job in restores
        if job["from_job_directory"] is not None
        for directory in [home["job_directory"] for home in homes.get(key_of(job, JOB), ())] or [""]
    }
    nothing = {"files": 0, "bytes": 0, "checkpoints": 0, "kind": "restored_from"}
    restored = (
        dict(zip(names, end, strict=True)) | nothing for end in sorted(ends) if end[1] != end[3]
    )
    return refers + [
        row | {"root": root_around(row["audit_id"], row["other_directory"], roots) or ""}
        for row in restored
    ]
