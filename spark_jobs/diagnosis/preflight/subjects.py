from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_jobs.diagnosis.known_bugs.conditions import JobFacts

SAVEPOINT_KEYED = "KeyGroupsSavepointStateHandle"
"""Keyed state of a canonical savepoint, 1.13 and later."""


@dataclass
class StoredOperator:
    """``kinds`` of its state, as ``ingest.metadata.pieces`` names them. ``keyed``: classes of its
    managed keyed state. ``has_state``: a subtask has a handle. ``is_certain``: every release of
    Flink counts that as state, unlike a coordinator's state alone or empty merged files.
    ``missing``: number of files that do not exist or are too short.
    """

    operator_id: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    has_finished: bool = False
    state_bytes: int = 0
    kinds: set[str] = field(default_factory=set)
    keyed: set[str] = field(default_factory=set)
    has_state: bool = False
    is_certain: bool = False
    missing: int = 0

    @property
    def holds_in_flight(self) -> bool:
        return any(kind.startswith("channel-") for kind in self.kinds)


@dataclass(frozen=True)
class Snapshot:
    """``flink_version`` and ``backend``: of the run that took the snapshot. ``type_name`` and
    ``savepoint_format``: known since 1.16. ``unchecked``: why some files were not looked for, else
    "". ``foreign``: directories of other jobs that have files of the snapshot.
    """

    path: str
    checkpoint_id: int
    format_version: int
    operators: tuple[StoredOperator, ...]
    flink_version: str | None = None
    backend: str | None = None
    type_name: str | None = None
    savepoint_format: str | None = None
    master_states: tuple[str, ...] = ()
    files: int = 0
    unchecked: str = ""
    foreign: tuple[str, ...] = ()

    @property
    def is_canonical(self) -> bool:
        keyed = {name for operator in self.operators for name in operator.keyed}
        return self.savepoint_format == "CANONICAL" or keyed == {SAVEPOINT_KEYED}


@dataclass(frozen=True)
class PlannedOperator:
    operator_id: str
    name: str
    parallelism: int | None
    max_parallelism: int | None


@dataclass(frozen=True)
class Job:
    """``operators``: all of the job, by a ``_metadata`` of this run; None if none was read.
    ``took_snapshot``: this run wrote it. ``may_drop``: state without an operator may be dropped.
    ``keeps_types``: somebody asserts that types, serializers, time-to-live and timers of state are
    those of the snapshot.
    """

    flink_version: str | None
    vertices: tuple[PlannedOperator, ...]
    operators: Mapping[str, PlannedOperator] | None = None
    backend: str | None = None
    changelog: bool | None = None
    took_snapshot: bool = False
    may_drop: bool = False
    keeps_types: bool = False
    facts: JobFacts = field(default_factory=JobFacts)
