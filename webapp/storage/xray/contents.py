"""Contents of one ``_metadata``, small enough to cache and draw: figures per operator, directory,
state, file size. Plain values, shared by page, API and cache. Sizes are bytes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SubtaskBytes:
    subtask: int
    state_bytes: int


@dataclass(frozen=True)
class OperatorContents:
    """``largest``: at most ``MOST_SUBTASKS`` subtasks, most state first; other figures count all.

    ``max_over_median`` is over all running subtasks, those without any state as 0; ``None`` for
    fewer than two.
    """

    operator_id: str
    name: str
    parallelism: int
    subtasks: int
    finished: int
    state_bytes: int
    uploaded_bytes: int | None
    files: int
    inline_bytes: int
    largest: tuple[SubtaskBytes, ...]
    max_over_median: float | None
    kinds: dict[str, int]
    """Kind of state (as :mod:`ingest.metadata.pieces` names it) → bytes."""


@dataclass(frozen=True)
class DirectoryContents:
    """Files below one directory: the job's own, another job's, or one without the job level."""

    path: str
    job_id: str | None
    own: bool
    references: int
    files: int
    state_bytes: int


@dataclass(frozen=True)
class ListedState:
    """One named operator state. ``handle_bytes`` is the size of the handles it shares with the
    other states of its subtasks; ``files`` are the distinct files they lie in, the others being
    within the ``_metadata``. ``parallelism`` is that of its operator.

    ``restore_bytes`` is upper bound of what all subtasks together read of it at a restore: each
    reads all handles of a UNION or BROADCAST state, or, for BROADCAST, one.
    """

    operator_id: str
    operator_name: str
    name: str
    mode: str
    parallelism: int
    subtasks: int
    files: int
    offsets: int
    most_offsets: int
    handle_bytes: int
    restore_bytes: int


@dataclass(frozen=True)
class SizeBucket:
    """Files of at most ``le_bytes`` and more than half of it."""

    le_bytes: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Xray:
    """One checkpoint or savepoint. ``foreign_*`` count what lies outside its own job's directories
    (for a savepoint: outside itself).

    ``absolute`` counts paths that do not move with the checkpoint. Files are distinct paths;
    ``file_bytes`` counts each once, for segments the parts that are referred to.
    """

    metadata_path: str
    metadata_bytes: int
    checkpoint_id: int
    format_version: int
    format_name: str
    type_name: str
    savepoint_format: str
    handles: int
    state_bytes: int
    uploaded_bytes: int | None
    inline_handles: int
    inline_bytes: int
    files: int
    file_bytes: int
    segments: int
    absolute: int
    foreign_files: int
    foreign_bytes: int
    operators: tuple[OperatorContents, ...]
    operators_left_out: int
    directories: tuple[DirectoryContents, ...]
    directories_left_out: int
    states: tuple[ListedState, ...]
    states_left_out: int
    sizes: tuple[SizeBucket, ...]

    @property
    def self_contained(self) -> bool:
        """Whether no reference leaves its own job's directories."""
        return self.foreign_files == 0

    @property
    def relocatable(self) -> bool:
        """Whether no path is absolute: it can be moved or copied as a directory."""
        return self.absolute == 0

    @property
    def is_savepoint(self) -> bool:
        return "avepoint" in self.type_name
