"""Stream handles: the places of a state's bytes. Tag 0 is no stream."""

from collections.abc import Callable
from enum import IntEnum

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata
from ingest.metadata.pieces import Stream
from ingest.metadata.reading import Reading


class StreamTag(IntEnum):
    NULL = 0
    BYTES = 1
    FILE = 2
    KEY_GROUPS = 3
    RELATIVE = 6
    SEGMENT = 15
    EMPTY_SEGMENT = 16


EMPTY_SEGMENT = Stream("EmptySegmentFileStateHandle", 0)


def read_stream(reading: Reading) -> Stream | None:
    window = reading.window
    tag = window.byte(message("the tag of a stream handle"))
    if tag == StreamTag.NULL:
        return None
    reader = _READERS.get(tag)
    if reader is None:
        known = ", ".join(map(str, sorted([0, *_READERS])))
        raise window.unsupported(
            1,
            message("the tag of a stream handle ({known:name})", known=known),
            str(tag),
        )
    return reader(reading)


def require_stream(reading: Reading, whose: str) -> Stream:
    position = reading.window.position
    stream = read_stream(reading)
    if stream is None:
        raise DamagedMetadata(
            position, message("the stream of {whose:text}", whose=whose), message("none")
        )
    return stream


def _bytes(reading: Reading) -> Stream:
    window = reading.window
    name = window.text(message("the name of inline state"))
    size = window.count(message("the length of inline state"))
    position = window.position
    window.skip(size, message("inline state"))
    return Stream("ByteStreamStateHandle", size, inline_at=position, name=name)


def _file(reading: Reading) -> Stream:
    window = reading.window
    size = window.size(message("the size of a file"))
    path = reading.path(message("the path of a file"))
    return Stream("FileStateHandle", size, path, path)


def _relative(reading: Reading) -> Stream:
    window = reading.window
    written = window.text(message("the relative path of a file"))
    size = window.size(message("the size of a file"))
    return Stream("RelativeFileStateHandle", size, f"{reading.directory}/{written}", written)


def _key_groups(reading: Reading) -> Stream | None:
    window = reading.window
    window.int32(message("the first key group"))
    window.skip(
        8 * window.count(message("the number of key groups")), message("offsets of key groups")
    )
    with reading.nested(message("a stream in a stream")):
        inner = read_stream(reading)
    return inner and inner._replace(handle_class="KeyGroupsStateHandle")


def _segment(reading: Reading) -> Stream:
    window = reading.window
    start = window.size(message("the start of a segment"))
    size = window.size(message("the size of a segment"))
    scope = window.int32(message("the scope of a segment"))
    if scope not in (0, 1):
        raise window.damaged(4, message("the scope of a segment (0 or 1)"), str(scope))
    path = reading.path(message("the path of a segment's file"))
    name = window.text(message("the id of a segment"))
    return Stream("SegmentFileStateHandle", size, path, path, start, name=name)


_READERS: dict[int, Callable[[Reading], Stream | None]] = {
    StreamTag.BYTES: _bytes,
    StreamTag.FILE: _file,
    StreamTag.KEY_GROUPS: _key_groups,
    StreamTag.RELATIVE: _relative,
    StreamTag.SEGMENT: _segment,
    StreamTag.EMPTY_SEGMENT: lambda _: EMPTY_SEGMENT,
}
