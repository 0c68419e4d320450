"""The input of a rule on storage: one root, or one job's directory in it, by one audit."""

from dataclasses import dataclass

from ingest.messages import plural
from spark_jobs.diagnosis.findings import Subject

TWO_DAYS_S = 172_800
"""A daily audit may be late; the next audit closes findings that it does not see."""


@dataclass(frozen=True, slots=True)
class Share:
    files: int = 0
    bytes: int = 0

    @property
    def files_text(self) -> str:
        return plural(self.files, "{count:count} file", "{count:count} files")


NOTHING = Share()


@dataclass(frozen=True, slots=True)
class IdleSnapshots:
    path: str
    idle_ms: float
    size: Share
    is_savepoint: bool
    job_name: str | None = None


@dataclass(frozen=True, slots=True)
class StorageRootSample:
    """``orphan_kinds``: orphans by reason, a code of :mod:`spark_jobs.storage_words`.
    ``clean_up_barred_by``: sentences for people, empty if a plan may be made. ``jobs_with_most_…``:
    names, most bytes first.
    """

    root: str
    at_ms: int
    all: Share = NOTHING
    orphans: Share = NOTHING
    waste: Share = NOTHING
    kept: Share = NOTHING
    orphan_kinds: tuple[tuple[str, Share], ...] = ()
    clean_up_barred_by: tuple[str, ...] = ()
    jobs_with_most_orphans: tuple[str, ...] = ()
    jobs_with_most_waste: tuple[str, ...] = ()
    idle: tuple[IdleSnapshots, ...] = ()

    @property
    def subject(self) -> Subject:
        return "root", self.root, self.root


@dataclass(frozen=True, slots=True)
class IncompleteSnapshot:
    """``superseded``: a later checkpoint of the chain is complete. ``is_newest``: no root has a
    newer checkpoint of the job.
    """

    path: str
    missing: Share
    checkpoint_id: int | None = None
    is_savepoint: bool = False
    is_newest: bool = False
    superseded: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dependence:
    """Files of another job (``job_id``) that the sampled job's checkpoints refer to. ``ended``:
    None if nobody has reported the other job.
    """

    job_id: str
    files: int
    bytes: int
    job_name: str | None = None
    ended: bool | None = None


@dataclass(frozen=True, slots=True)
class OperatorStatePoint:
    """``elements`` of its named lists include ``union_elements``."""

    at_ms: int
    checkpoint_id: int | None
    job_id: str
    subtasks: int
    operator_bytes: int
    elements: int
    union_elements: int


@dataclass(frozen=True, slots=True)
class OperatorStateTrend:
    """``points``: of the checkpoints of a job and of the jobs that it was restored from, oldest
    first, never empty. ``states``: named lists in the newest checkpoint, as (name, mode, elements),
    most elements first. ``files``: the number of files with these lists.
    """

    operator_id: str
    name: str
    points: tuple[OperatorStatePoint, ...]
    states: tuple[tuple[str, str, int], ...] = ()
    files: int = 0

    @property
    def newest(self) -> OperatorStatePoint:
        return self.points[-1]


@dataclass(frozen=True, slots=True)
class StorageJobSample:
    """The directory of one job in one root. ``cluster`` is empty if no registered cluster has
    reported the job. ``segmented``: physical files of merged state; ``live_segment_bytes``: their
    bytes that are still referred to. ``chain``: the number of jobs behind this one, each needed by
    the next. ``retained``: its checkpoints and savepoints in all roots that were read,
    ``dependent``: those that refer to files of other jobs. ``calls``: to the name service for one
    checkpoint.
    """

    root: str
    cluster: str
    job_id: str
    at_ms: int
    job_name: str | None = None
    ended: bool | None = None
    all: Share = NOTHING
    small_files: int = 0
    segmented: Share = NOTHING
    live_segment_bytes: int = 0
    depends_on: tuple[Dependence, ...] = ()
    chain: int = 0
    retained: int = 0
    dependent: int = 0
    incomplete: tuple[IncompleteSnapshot, ...] = ()
    calls: float | None = None
    interval_ms: int | None = None

    @property
    def calls_per_s(self) -> float | None:
        return (
            self.calls * 1000 / self.interval_ms
            if self.calls is not None and self.interval_ms
            else None
        )

    @property
    def place(self) -> dict[str, str]:
        return {"root": self.root, "job_id": self.job_id}

    @property
    def subject(self) -> Subject:
        """A job that no cluster reported has no page: its directory is the subject."""
        if self.cluster:
            return "job", self.root, self.job_name or self.job_id
        directory = f"{self.root}/{self.job_id}"
        return "root", directory, directory
