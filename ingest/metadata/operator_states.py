"""Operator state handles: named lists of offsets into one stream."""

from ingest.messages import message
from ingest.metadata.errors import DamagedMetadata, UnsupportedMetadata
from ingest.metadata.pieces import Handle, ListState, Operator
from ingest.metadata.reading import Reading
from ingest.metadata.streams import read_stream

PARTITIONABLE = 4
SEGMENT_PARTITIONABLE = 17
MODES = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
MOST_STATES = 100_000


def read_operator_state(
    reading: Reading, operator: Operator, subtask: int, kind: str
) -> Handle | None:
    window = reading.window
    tag = window.byte(message("the tag of an operator state handle"))
    if tag == 0:
        return None
    if tag not in (PARTITIONABLE, SEGMENT_PARTITIONABLE):
        raise UnsupportedMetadata(
            window.position - 1,
            message("the tag of an operator state handle (0, 4 or 17)"),
            str(tag),
        )
    states = tuple(
        _state(reading)
        for _ in range(window.bounded_count(MOST_STATES, message("operator states")))
    )
    state_class, directories = "OperatorStreamStateHandle", None
    if tag == SEGMENT_PARTITIONABLE:
        directories = (
            reading.path(message("the task-owned directory")),
            reading.path(message("the shared directory")),
        )
        empty = window.flag(message("whether merged operator state is empty"))
        state_class = (
            "EmptyFileMergingOperatorStreamStateHandle"
            if empty
            else "FileMergingOperatorStreamStateHandle"
        )
    stream = read_stream(reading)
    size = stream.bytes if stream else 0
    return Handle(
        operator,
        subtask,
        kind,
        state_class,
        stream,
        size,
        states=states,
        managed_directories=directories,
    )


def _state(reading: Reading) -> ListState:
    window = reading.window
    name = window.text(message("the name of an operator state"))
    mode = window.byte(message("the mode of an operator state"))
    if mode >= len(MODES):
        raise DamagedMetadata(
            window.position - 1,
            message("the mode of an operator state (0 split, 1 union or 2 broadcast)"),
            str(mode),
        )
    offsets = window.count(message("the number of offsets of an operator state"))
    window.skip(8 * offsets, message("offsets of an operator state"))
    return ListState(name, MODES[mode], offsets)
