"""What one ``_metadata`` holds, small enough to keep and to draw: figures per operator, directory,
state, size of file.

All are plain values, so that a page, the API and the cache take the same thing. Sizes are bytes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SubtaskBytes:
    subtask: int
    state_bytes: int


@dataclass(frozen=True)
class OperatorContents:
    """``largest`` are at most ``MOST_SUBTASKS`` subtasks, most state first; the figures beside it
    count all of them.

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

    ``restore_bytes`` is what all subtasks together read of it at a restore, at most: every one
    reads all of a UNION or BROADCAST state's handles, or, for BROADCAST, one of them.
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
        """No reference leaves its own job's directories."""
        return self.foreign_files == 0

    @property
    def relocatable(self) -> bool:
        """No path in it is absolute: it can be moved or copied as a directory."""
        return self.absolute == 0

    @property
    def is_savepoint(self) -> bool:
        return "avepoint" in self.type_name
