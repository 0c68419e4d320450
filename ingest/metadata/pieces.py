"""The pieces of a ``_metadata`` file, in the order of the file: a Header; per operator an Operator,
the Handle of its coordinator if it has one, and per subtask a Subtask with its Handles and
KeyedStates; then the End.

``kind``: the part of a subtask's state: ``coordinator``, ``managed-op``, ``raw-op``, ``keygroups``,
``shared``, ``private``, ``meta`` (of incremental state), ``stream`` and ``other`` (changelog),
``changelog-handle`` (a whole changelog, without bytes), ``channel-input``, ``channel-output``. The
prefix ``raw-`` marks raw keyed state, ``changelog-materialized-`` and ``changelog-`` state within a
changelog. Class names are those of Flink 1.20, also in files of older releases.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ingest.metadata.dialects import Dialect


class Header(NamedTuple):
    checkpoint_id: int
    dialect: Dialect
    master_states: tuple[str, ...]
    operators: int


class Operator(NamedTuple):
    """``name`` and ``uid`` are ``None`` before 2.0, or if the job does not set them."""

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
    """Where bytes are: in a file (``path``), or in the ``_metadata`` (``inline_at``). For other
    fields see ``records.Reference``.
    """

    handle_class: str
    bytes: int
    path: str | None = None
    """Absolute: a relative path is resolved in the directory of the ``_metadata``."""
    written_path: str | None = None
    offset: int | None = None
    inline_at: int | None = None
    name: str | None = None


class Keyed(NamedTuple):
    state_class: str
    backend_id: str | None = None
    handle_id: str | None = None
    checkpointed_bytes: int | None = None


class ListState(NamedTuple):
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


class FileRun(NamedTuple):
    """Many files of an incremental state. ``block``: bytes of their entries, which have equal
    lengths, ASCII texts and no negative sizes (``file_runs``).
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
    name: str
    savepoint_format: str | None = None


class End(NamedTuple):
    """The end of the file: without it, the pieces are incomplete."""

    properties: Properties | None
    bytes: int


Piece = Header | Operator | Subtask | Handle | KeyedState | End
