from collections.abc import Iterator
from struct import Struct

from ingest.messages import message
from ingest.metadata.dialects import ChannelLayout, DamagedMetadata, UnsupportedMetadata
from ingest.metadata.keyed import read_keyed_state
from ingest.metadata.pieces import End, Handle, Header, ListState, Operator, Piece, Subtask
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
    tag = window.byte()
    if tag == 0:
        return None
    if tag not in (PARTITIONABLE, SEGMENT_PARTITIONABLE):
        raise window.unknown_tag(tag)
    states = tuple(_state(reading) for _ in range(window.bounded_count(MOST_STATES)))
    state_class, directories = "OperatorStreamStateHandle", None
    if tag == SEGMENT_PARTITIONABLE:
        directories = reading.path(), reading.path()  # task-owned, shared
        state_class = f"{'Empty' if window.flag() else ''}FileMergingOperatorStreamStateHandle"
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
    name = window.text()
    mode = window.byte()
    if mode >= len(MODES):
        raise window.wrong_number(1, mode)
    offsets = window.count()
    window.skip(8 * offsets)
    return ListState(name, MODES[mode], offsets)


_CLASSES = {
    "channel-input": "InputChannelStateHandle",
    "channel-output": "ResultSubpartitionStateHandle",
}
_TYPES = {"channel-input": {1: False, 3: True}, "channel-output": {2: False, 4: True}}


def read_channel_state(reading: Reading, operator: Operator, subtask: int, kind: str) -> Handle:
    reading.in_doubt = True
    window, layout = reading.window, reading.dialect.channels
    is_merged = layout is ChannelLayout.TYPED and _is_merged(reading, kind)
    if layout is not ChannelLayout.WITHOUT_SUBTASK:
        window.count()  # the subtask
    if not is_merged:
        window.count()  # the gate or partition
        window.count()  # the channel or subpartition
        window.skip(8 * window.count())  # offsets
    size = window.size()
    stream = require_stream(reading)
    state_class = _CLASSES[kind]
    if is_merged:
        state_class = f"Merged{state_class}"
        window.skip(window.count())  # offsets
    return Handle(operator, subtask, kind, state_class, stream, size)


def _is_merged(reading: Reading, kind: str) -> bool:
    window = reading.window
    type_ = window.byte()
    if type_ not in _TYPES[kind]:
        raise window.unknown_tag(type_)
    return _TYPES[kind][type_]


MASTER_STATE_MAGIC = 0xC96B1696
MOST_MASTER_STATES = 10_000
MOST_OPERATORS = 100_000
_OPERATOR = Struct(">16sii")


def walk(reading: Reading) -> Iterator[Piece]:
    """Pieces after magic number and version; complete only if the last is ``End``. Raises
    ``MetadataError``.
    """
    window, dialect = reading.window, reading.dialect
    checkpoint_id = window.size()
    masters = tuple(_master_state(reading) for _ in range(window.bounded_count(MOST_MASTER_STATES)))
    operators = window.bounded_count(MOST_OPERATORS)
    yield Header(checkpoint_id, dialect, masters, operators)
    for _ in range(operators):
        yield from _operator(reading)
    properties = read_properties(window) if dialect.properties else None
    window.expect_end()
    yield End(properties, window.position)


def _master_state(reading: Reading) -> str:
    window = reading.window
    magic = window.int32() & 0xFFFFFFFF
    if magic != MASTER_STATE_MAGIC:
        raise window.wrong_number(4, magic)
    length = window.count()
    start = window.position
    window.int32()  # its version
    name = window.text()
    size = window.count()
    actual = window.position + size - start
    if actual != length:
        raise DamagedMetadata(start, message("a state of the JobManager with two lengths"))
    window.skip(size)
    return name


def _operator(reading: Reading) -> Iterator[Piece]:
    window, dialect = reading.window, reading.dialect
    name = window.text() if dialect.operator_names else ""
    uid = window.text() if dialect.operator_names else ""
    at = window.take(_OPERATOR.size)
    operator_id, parallelism, max_parallelism = _OPERATOR.unpack_from(window.data, at)
    if parallelism < 0:
        raise window.wrong_number(8, parallelism)
    if dialect.paddings:
        window.skip(4)  # the length of a chain
    coordinator = read_stream(reading) if dialect.coordinators else None
    subtasks = window.int32()
    if subtasks < (-1 if dialect.finished_tasks else 0):
        raise window.wrong_number(4, subtasks)
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
    index = window.int32()
    if index < 0:
        if not dialect.finished_tasks:
            raise window.wrong_number(4, index)
        yield Subtask(operator, -index - 1, finished=True)
        return
    yield Subtask(operator, index, finished=False)
    if dialect.paddings:
        window.skip(8)  # a duration
        if window.int32():
            raise UnsupportedMetadata(window.position - 4, message("state of Flink 1.2 or older"))
    for kind in ("managed-op", "raw-op"):
        present = window.int32()
        if present not in (0, 1):
            raise window.wrong_number(4, present)
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
            for _ in range(window.count()):
                yield read_channel_state(reading, operator, index, kind)
    if dialect.origins and window.flag():
        window.size()  # the checkpoint that the subtask kept its state of
