"""Contents of one ``_metadata`` for page, API and cache. Sizes are bytes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OperatorContents:
    """``largest_bytes``: state of the subtask with most state. ``max_over_median`` compares all
    running subtasks, of which some may have 0 bytes; ``None`` for fewer than two, or a median of 0.
    """

    operator_id: str
    name: str
    parallelism: int
    state_bytes: int
    largest_bytes: int
    max_over_median: float | None
    files: int


@dataclass(frozen=True)
class DirectoryContents:
    """Files below one directory: the job's, another job's, or one without the job level."""

    path: str
    own: bool
    files: int
    bytes: int


@dataclass(frozen=True)
class ListedState:
    """One named operator state. ``handle_bytes`` is the size of its handles, which also contain the
    other states of the same subtasks; ``files`` is the number of distinct files of these handles:
    other handles are inside the ``_metadata``.

    ``restore_bytes`` is an upper bound of what all subtasks together read at a restore: each
    subtask reads all handles of a UNION state, and one handle of a BROADCAST state.
    """

    operator_id: str
    operator_name: str
    name: str
    mode: str
    parallelism: int
    subtasks: int
    files: int
    handle_bytes: int
    restore_bytes: int


@dataclass(frozen=True)
class Xray:
    """One checkpoint or savepoint. ``foreign_*`` count files outside the directory of its job (for
    a savepoint: outside its own directory).

    ``absolute`` counts paths that do not move with the checkpoint. ``files`` counts distinct paths;
    ``file_bytes`` counts each file once, and only the segments that are referred to. Lists are cut;
    ``operators_left_out`` and similar fields count what was cut.
    """

    metadata_path: str
    checkpoint_id: int
    is_savepoint: bool
    handles: int
    state_bytes: int
    files: int
    file_bytes: int
    absolute: int
    foreign_files: int
    foreign_bytes: int
    operators: tuple[OperatorContents, ...]
    operators_left_out: int
    directories: tuple[DirectoryContents, ...]
    directories_left_out: int
    states: tuple[ListedState, ...]
    states_left_out: int

    @property
    def self_contained(self) -> bool:
        return self.foreign_files == 0

    @property
    def relocatable(self) -> bool:
        """Whether no path is absolute, so that the directory can be moved or copied."""
        return self.absolute == 0
