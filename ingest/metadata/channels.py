"""Channel state: in-flight records of unaligned checkpoints. Many channels share one file."""

from ingest.messages import message
from ingest.metadata.dialects import ChannelLayout
from ingest.metadata.errors import UnsupportedMetadata
from ingest.metadata.pieces import Channel, Handle, Operator
from ingest.metadata.reading import Reading
from ingest.metadata.streams import require_stream

_CLASSES = {
    "channel-input": "InputChannelStateHandle",
    "channel-output": "ResultSubpartitionStateHandle",
}
_MERGED_CLASSES = {
    "channel-input": "MergedInputChannelStateHandle",
    "channel-output": "MergedResultSubpartitionStateHandle",
}
_TYPES = {"channel-input": {1: False, 3: True}, "channel-output": {2: False, 4: True}}
"""Type byte → whether all channels of the subtask are merged into one handle."""


def read_channel_state(reading: Reading, operator: Operator, subtask: int, kind: str) -> Handle:
    reading.in_doubt = True
    layout = reading.dialect.channels
    if layout is ChannelLayout.TYPED and _is_merged(reading, kind):
        return _merged(reading, operator, subtask, kind)
    window = reading.window
    subtask_index = (
        None
        if layout is ChannelLayout.WITHOUT_SUBTASK
        else window.count(message("the subtask of a channel state"))
    )
    gate = window.count(message("the gate or partition of a channel state"))
    channel = window.count(message("the channel or subpartition of a channel state"))
    offsets = window.longs(
        window.count(message("the number of offsets of a channel state")),
        message("offsets of a channel state"),
    )
    size = window.size(message("the size of a channel state"))
    stream = require_stream(reading, message("a channel state"))
    return Handle(
        operator,
        subtask,
        kind,
        _CLASSES[kind],
        stream,
        size,
        channel=Channel(subtask_index, gate, channel, size, offsets),
    )


def _is_merged(reading: Reading, kind: str) -> bool:
    window = reading.window
    type_ = window.byte(message("the type of a channel state"))
    if type_ not in _TYPES[kind]:
        raise UnsupportedMetadata(
            window.position - 1,
            message(
                "the type of a {kind:name} state ({join:name})",
                kind=kind,
                join=" or ".join(map(str, _TYPES[kind])),
            ),
            str(type_),
        )
    return _TYPES[kind][type_]


def _merged(reading: Reading, operator: Operator, subtask: int, kind: str) -> Handle:
    window = reading.window
    subtask_index = window.count(message("the subtask of a channel state"))
    size = window.size(message("the size of a channel state"))
    stream = require_stream(reading, message("a channel state"))
    serialized = window.count(message("the length of a merged channel state's offsets"))
    window.skip(serialized, message("offsets of a merged channel state"))
    channel = Channel(subtask_index, None, None, size, None, serialized)
    return Handle(operator, subtask, kind, _MERGED_CLASSES[kind], stream, size, channel=channel)
