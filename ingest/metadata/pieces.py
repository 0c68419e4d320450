"""The pieces of a ``_metadata`` file, in the order in which the walk yields them.

    Header, then per operator: Operator, [coordinator Handle], per subtask: Subtask, Handle and
    KeyedState …, [Origin], then End

``kind`` says which part of a subtask's state a handle holds: ``coordinator``, ``managed-op``,
``raw-op``, ``keygroups``, ``shared``, ``private``, ``meta`` (of incremental state), ``stream`` and
``other`` (changelog), ``changelog-handle`` (a changelog as such, no bytes of its own),
``channel-input``, ``channel-output``. The prefix ``raw-`` marks raw keyed state,
``changelog-materialized-`` and ``changelog-`` state within a changelog. Class names are those of
Flink 1.20, also for files of older releases.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from ingest.metadata.dialects import Dialect


class MasterState(NamedTuple):
    """State of a hook of the JobManager; ``bytes`` of its content, which starts at ``position`` of
    the file.
    """

    name: str
    version: int
    bytes: int
    position: int


class Header(NamedTuple):
    checkpoint_id: int
    dialect: Dialect
    master_states: tuple[MasterState, ...]
    operators: int


class Operator(NamedTuple):
    """``name`` and ``uid`` are ``None`` if not set, and before 2.0."""

    operator_id: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    subtasks: int
    fully_finished: bool


class Subtask(NamedTuple):
    operator: Operator
    subtask: int
    finished: bool


class Origin(NamedTuple):
    operator: Operator
    subtask: int
    checkpoint_id: int


class Stream(NamedTuple):
    """Where bytes lie: in a file (``path``), or in the ``_metadata`` itself (``inline_at``)."""

    handle_class: str
    bytes: int
    """Of the whole file for a file, of the segment for a segment."""
    path: str | None = None
    """Absolute; relative paths are resolved against the directory of the ``_metadata``."""
    written_path: str | None = None
    """As in the file."""
    offset: int | None = None
    """Where a segment begins in its physical file, else ``None``."""
    inline_at: int | None = None
    """Position of ``bytes`` bytes of state within the ``_metadata``; they are in no file."""
    name: str | None = None
    """Name of inline bytes (like a path, but no such file exists), or the logical id of a segment.
    """
    scope: str | None = None
    """EXCLUSIVE or SHARED, for segments."""


class Keyed(NamedTuple):
    """What all files of one keyed state have in common; ``None`` if the format does not say."""

    state_class: str
    first_key_group: int
    key_groups: int
    backend_id: str | None = None
    checkpoint_id: int | None = None
    handle_id: str | None = None
    checkpointed_bytes: int | None = None
    """Uploaded by this checkpoint; ``None`` if the format does not say."""
    total_bytes: int | None = None
    """As written in handles that carry their own total (increments of a changelog), else
    ``None``.
    """
    sequence: tuple[int, int] | None = None
    """First and last sequence number of an increment that is kept in the ``_metadata``."""
    materialization_id: int | None = None
    storage: str | None = None
    """Of an increment: ``filesystem`` or ``memory``."""


class ListState(NamedTuple):
    """One named operator state: ``mode`` is SPLIT_DISTRIBUTE, UNION or BROADCAST; ``offsets`` is a
    count.
    """

    name: str
    mode: str
    offsets: int


class Channel(NamedTuple):
    """``gate`` or result partition and ``channel`` or subpartition; both ``None`` for merged
    states.
    """

    subtask_index: int | None
    gate: int | None
    channel: int | None
    bytes: int
    offsets: "array[int] | None"
    serialized_offsets_bytes: int | None = None


class Handle(NamedTuple):
    operator: Operator
    subtask: int | None
    kind: str
    state_class: str
    stream: Stream | None
    state_bytes: int
    """Its part of the size of its subtask's state, in Flink's counting."""
    local_name: str | None = None
    """Of a file of incremental state (``000025.sst``)."""
    keyed: Keyed | None = None
    states: tuple[ListState, ...] | None = None
    managed_directories: tuple[str, str] | None = None
    """Task-owned and shared directory that this handle keeps alive (merged files)."""
    channel: Channel | None = None
    stream_offset: int | None = None


class FileRun(NamedTuple):
    """Many files of one incremental state whose entries have the same lengths, still as bytes.

    ``block`` holds an entry for each of the ``files``, checked to be ASCII with sizes of 0 or more.
    See :mod:`ingest.metadata.file_runs`.
    """

    operator: Operator
    subtask: int
    kind: str
    keyed: Keyed
    name_length: int
    path_length: int
    files: int
    block: bytes


class KeyedState(NamedTuple):
    operator: Operator
    subtask: int
    raw: bool
    keyed: Keyed
    parts: "Sequence[Handle | FileRun]"


class Properties(NamedTuple):
    """The end of the file, since 1.16. The booleans say when Flink itself deletes the checkpoint."""

    type_class: str
    """``CheckpointType`` or ``SavepointType``."""
    name: str
    """Checkpoint, Full Checkpoint, Savepoint, Terminate Savepoint or Suspend Savepoint."""
    flags: dict[str, bool]
    """``discardSubsumed``, ``-Finished``, ``-Cancelled``, ``-Failed`` and ``-Suspended``;
    ``forced`` and ``unclaimed``.
    """
    sharing: str | None = None
    savepoint_format: str | None = None
    post_action: str | None = None

    @property
    def is_savepoint(self) -> bool:
        return self.type_class == "SavepointType"


class End(NamedTuple):
    """The exact end was reached: only now are the pieces before it complete."""

    properties: Properties | None
    bytes: int


Piece = Header | Operator | Subtask | Origin | Handle | KeyedState | End
