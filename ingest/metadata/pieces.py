"""The pieces of a ``_metadata`` file, in the order of the file: a Header; per operator an Operator,
the Handle of its coordinator if it has one, and per subtask a Subtask with its Handles and
KeyedStates; then the End.

``kind`` says which part of a subtask's state a handle holds: ``coordinator``, ``managed-op``,
``raw-op``, ``keygroups``, ``shared``, ``private``, ``meta`` (of incremental state), ``stream`` and
``other`` (changelog), ``changelog-handle`` (a changelog as such, no bytes of its own),
``channel-input``, ``channel-output``. The prefix ``raw-`` marks raw keyed state,
``changelog-materialized-`` and ``changelog-`` state within a changelog. Class names are those of
Flink 1.20, also for files of older releases.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ingest.metadata.dialects import Dialect


class Header(NamedTuple):
    checkpoint_id: int
    dialect: Dialect
    master_states: tuple[str, ...]
    """Names of hooks of the JobManager that keep state."""
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


class Stream(NamedTuple):
    """Where bytes lie: in a file (``path``), or in the ``_metadata`` itself (``inline_at``). Fields
    are explained in :class:`ingest.records.Reference`.
    """

    handle_class: str
    bytes: int
    path: str | None = None
    """Relative ones are resolved against the directory of the ``_metadata``."""
    written_path: str | None = None
    offset: int | None = None
    inline_at: int | None = None
    name: str | None = None


class Keyed(NamedTuple):
    """What all files of one keyed state have in common; ``None`` if the format does not say."""

    state_class: str
    backend_id: str | None = None
    handle_id: str | None = None
    checkpointed_bytes: int | None = None


class ListState(NamedTuple):
    """A named operator state. ``mode``: SPLIT_DISTRIBUTE, UNION or BROADCAST; ``offsets``: how many."""

    name: str
    mode: str
    offsets: int


class Handle(NamedTuple):
    operator: Operator
    subtask: int | None
    kind: str
    state_class: str
    stream: Stream | None
    state_bytes: int
    local_name: str | None = None
    keyed: Keyed | None = None
    states: tuple[ListState, ...] | None = None
    managed_directories: tuple[str, str] | None = None
    """Task-owned and shared directory that this handle keeps alive (merged files)."""


class FileRun(NamedTuple):
    """Many files of one incremental state, still as bytes: ``block`` holds their entries, which have
    the same lengths, ASCII texts and sizes of 0 or more (:mod:`ingest.metadata.file_runs`).
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
    """The end of the file, since 1.16."""

    name: str
    """Checkpoint, Full Checkpoint, Savepoint, Terminate Savepoint or Suspend Savepoint."""
    savepoint_format: str | None = None


class End(NamedTuple):
    """The exact end was reached: only now are the pieces before it complete."""

    properties: Properties | None
    bytes: int


Piece = Header | Operator | Subtask | Handle | KeyedState | End
