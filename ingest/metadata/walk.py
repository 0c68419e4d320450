"""The body of a ``_metadata`` file from its first to its last byte, as a stream of pieces."""

from collections.abc import Iterator
from struct import Struct

from ingest.messages import message, plural
from ingest.metadata.channels import read_channel_state
from ingest.metadata.errors import DamagedMetadata, UnsupportedMetadata
from ingest.metadata.keyed import read_keyed_state
from ingest.metadata.operator_states import read_operator_state
from ingest.metadata.pieces import (
    End,
    Handle,
    Header,
    MasterState,
    Operator,
    Origin,
    Piece,
    Subtask,
)
from ingest.metadata.properties import read_properties
from ingest.metadata.reading import Reading
from ingest.metadata.streams import read_stream

MASTER_STATE_MAGIC = 0xC96B1696
MOST_MASTER_STATES = 10_000
MOST_OPERATORS = 100_000
_OPERATOR = Struct(">16sii")


def walk(reading: Reading) -> Iterator[Piece]:
    """Pieces after magic and version.

    Raises ``MetadataError``; without ``End`` as its last piece a file is not complete.
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


def _master_state(reading: Reading) -> MasterState:
    window = reading.window
    magic = window.int32(message("the start of a master state")) & 0xFFFFFFFF
    if magic != MASTER_STATE_MAGIC:
        raise DamagedMetadata(
            window.position - 4,
            message(
                "the start of a master state (0x{master_state_magic:name})",
                master_state_magic=f"{MASTER_STATE_MAGIC:x}",
            ),
            f"0x{magic:x}",
        )
    length = window.count(message("the length of a master state"))
    start = window.position
    version = window.int32(message("the version of a master state"))
    name = window.text(message("the name of a master state"))
    size = window.count(message("the length of a master state's bytes"))
    position = window.position
    if position + size - start != length:
        raise DamagedMetadata(
            start,
            message(
                "a master state of {length:message}",
                length=plural(length, "{count:count} byte", "{count:count} bytes"),
            ),
            plural(position + size - start, "{count:count} byte", "{count:count} bytes"),
        )
    window.skip(size, message("a master state"))
    return MasterState(name, version, size, position)


def _operator(reading: Reading) -> Iterator[Piece]:
    window, dialect = reading.window, reading.dialect
    name = window.text(message("the name of an operator")) if dialect.operator_names else ""
    uid = window.text(message("the uid of an operator")) if dialect.operator_names else ""
    at = window.take(_OPERATOR.size, message("an operator's id and parallelism"))
    operator_id, parallelism, max_parallelism = _OPERATOR.unpack_from(window.data, at)
    if parallelism < 0:
        raise DamagedMetadata(
            window.position - 8, message("a parallelism of 0 or more"), str(parallelism)
        )
    if dialect.paddings:
        window.skip(4, message("the length of a chain"))
    coordinator = read_stream(reading) if dialect.coordinators else None
    subtasks = window.int32(message("the number of subtasks"))
    if subtasks < (-1 if dialect.finished_tasks else 0):
        raise DamagedMetadata(window.position - 4, message("a number of subtasks"), str(subtasks))
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
            raise DamagedMetadata(
                window.position - 4, message("the index of a subtask"), str(index)
            )
        yield Subtask(operator, -index - 1, finished=True)
        return
    yield Subtask(operator, index, finished=False)
    if dialect.paddings:
        window.skip(8, message("the duration of a subtask"))
        legacy = window.int32(message("the number of legacy states"))
        if legacy:
            raise UnsupportedMetadata(
                window.position - 4, message("no legacy state of Flink 1.2 or older"), str(legacy)
            )
    for kind in ("managed-op", "raw-op"):
        present = window.int32(message("whether there is {kind:name} state", kind=kind))
        if present not in (0, 1):
            raise DamagedMetadata(
                window.position - 4,
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
        yield Origin(operator, index, window.size(message("the checkpoint of a kept state")))
