"""The body of a ``_metadata`` file as a stream of pieces."""

from collections.abc import Iterator
from struct import Struct

from ingest.messages import message, plural
from ingest.metadata.dialects import ChannelLayout, DamagedMetadata
from ingest.metadata.keyed import read_keyed_state
from ingest.metadata.pieces import (
    End,
    Handle,
    Header,
    ListState,
    Operator,
    Piece,
    Subtask,
)
from ingest.metadata.properties import read_properties
from ingest.metadata.reading import Reading
from ingest.metadata.streams import read_stream, require_stream

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
        raise window.unsupported(
            1,
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
        raise window.damaged(
            1,
            message("the mode of an operator state (0 split, 1 union or 2 broadcast)"),
            str(mode),
        )
    offsets = window.count(message("the number of offsets of an operator state"))
    window.skip(8 * offsets, message("offsets of an operator state"))
    return ListState(name, MODES[mode], offsets)


_CLASSES = {
    "channel-input": "InputChannelStateHandle",
    "channel-output": "ResultSubpartitionStateHandle",
}
_TYPES = {"channel-input": {1: False, 3: True}, "channel-output": {2: False, 4: True}}
"""Type byte → whether all channels of the subtask are merged into one handle."""


def read_channel_state(reading: Reading, operator: Operator, subtask: int, kind: str) -> Handle:
    reading.in_doubt = True
    window, layout = reading.window, reading.dialect.channels
    is_merged = layout is ChannelLayout.TYPED and _is_merged(reading, kind)
    if layout is not ChannelLayout.WITHOUT_SUBTASK:
        window.count(message("the subtask of a channel state"))
    if not is_merged:
        window.count(message("the gate or partition of a channel state"))
        window.count(message("the channel or subpartition of a channel state"))
        offsets = window.count(message("the number of offsets of a channel state"))
        window.skip(8 * offsets, message("offsets of a channel state"))
    size = window.size(message("the size of a channel state"))
    stream = require_stream(reading, message("a channel state"))
    state_class = _CLASSES[kind]
    if is_merged:
        state_class = f"Merged{state_class}"
        length = window.count(message("the length of a merged channel state's offsets"))
        window.skip(length, message("offsets of a merged channel state"))
    return Handle(operator, subtask, kind, state_class, stream, size)


def _is_merged(reading: Reading, kind: str) -> bool:
    window = reading.window
    type_ = window.byte(message("the type of a channel state"))
    if type_ not in _TYPES[kind]:
        raise window.unsupported(
            1,
            message(
                "the type of a {kind:name} state ({join:name})",
                kind=kind,
                join=" or ".join(map(str, _TYPES[kind])),
            ),
            str(type_),
        )
    return _TYPES[kind][type_]


MASTER_STATE_MAGIC = 0xC96B1696
MOST_MASTER_STATES = 10_000
MOST_OPERATORS = 100_000
_OPERATOR = Struct(">16sii")


def walk(reading: Reading) -> Iterator[Piece]:
    """After magic and version. Raises ``MetadataError``; a file is complete only if its last piece
    is ``End``.
    """
    window, dialect = reading.window, reading.dialect
    checkpoint_id = window.size(message("the id of the checkpoint"))
    masters = tuple(
        _master_state(reading)
        for _ in range(window.bounded_count(MOST_MASTER_STATES, message("master states")))
    )
    operators = window.bounded_count(MOST_OPERATORS, message("operators"))
    yield Header(checkpoint_id, dialect, masters, operators)
    for _ in range(operators):
        yield from _operator(reading)
    properties = read_properties(window) if dialect.properties else None
    window.expect_end()
    yield End(properties, window.position)


def _master_state(reading: Reading) -> str:
    window = reading.window
    magic = window.int32(message("the start of a master state")) & 0xFFFFFFFF
    if magic != MASTER_STATE_MAGIC:
        raise window.damaged(
            4,
            message(
                "the start of a master state (0x{master_state_magic:name})",
                master_state_magic=f"{MASTER_STATE_MAGIC:x}",
            ),
            f"0x{magic:x}",
        )
    length = window.count(message("the length of a master state"))
    start = window.position
    window.int32(message("the version of a master state"))
    name = window.text(message("the name of a master state"))
    size = window.count(message("the length of a master state's bytes"))
    written = window.position + size - start
    if written != length:
        raise DamagedMetadata(
            start,
            message(
                "a master state of {length:message}",
                length=plural(length, "{count:count} byte", "{count:count} bytes"),
            ),
            plural(written, "{count:count} byte", "{count:count} bytes"),
        )
    window.skip(size, message("a master state"))
    return name


def _operator(reading: Reading) -> Iterator[Piece]:
    window, dialect = reading.window, reading.dialect
    name = window.text(message("the name of an operator")) if dialect.operator_names else ""
    uid = window.text(message("the uid of an operator")) if dialect.operator_names else ""
    at = window.take(_OPERATOR.size, message("an operator's id and parallelism"))
    operator_id, parallelism, max_parallelism = _OPERATOR.unpack_from(window.data, at)
    if parallelism < 0:
        raise window.damaged(8, message("a parallelism of 0 or more"), str(parallelism))
    if dialect.paddings:
        window.skip(4, message("the length of a chain"))
    coordinator = read_stream(reading) if dialect.coordinators else None
    subtasks = window.int32(message("the number of subtasks"))
    if subtasks < (-1 if dialect.finished_tasks else 0):
        raise window.damaged(4, message("a number of subtasks"), str(subtasks))
    operator = Operator(
        operator_id.hex(),
        name or None,
        uid or None,
        parallelism,
        max_parallelism,
        max(subtasks, 0),
        subtasks < 0,
    )
    yield operator
    if coordinator:
        yield Handle(
            operator, None, "coordinator", "OperatorCoordinator", coordinator, coordinator.bytes
        )
    for _ in range(operator.subtasks):
        yield from _subtask(reading, operator)


def _subtask(reading: Reading, operator: Operator) -> Iterator[Piece]:
    window, dialect = reading.window, reading.dialect
    index = window.int32(message("the index of a subtask"))
    if index < 0:
        if not dialect.finished_tasks:
            raise window.damaged(4, message("the index of a subtask"), str(index))
        yield Subtask(operator, -index - 1, finished=True)
        return
    yield Subtask(operator, index, finished=False)
    if dialect.paddings:
        window.skip(8, message("the duration of a subtask"))
        legacy = window.int32(message("the number of legacy states"))
        if legacy:
            raise window.unsupported(
                4, message("no legacy state of Flink 1.2 or older"), str(legacy)
            )
    for kind in ("managed-op", "raw-op"):
        present = window.int32(message("whether there is {kind:name} state", kind=kind))
        if present not in (0, 1):
            raise window.damaged(
                4,
                message("whether there is {kind:name} state (0 or 1)", kind=kind),
                str(present),
            )
        if present:
            state = read_operator_state(reading, operator, index, kind)
            if state:
                yield state
    for raw in (False, True):
        keyed = read_keyed_state(reading, operator, index, raw=raw)
        if keyed:
            yield keyed
    if dialect.channels:
        for kind in ("channel-input", "channel-output"):
            for _ in range(window.count(message("the number of {kind:name} states", kind=kind))):
                yield read_channel_state(reading, operator, index, kind)
    if dialect.origins and window.flag(
        message("whether a subtask kept the state of another checkpoint")
    ):
        window.size(message("the checkpoint of a kept state"))
