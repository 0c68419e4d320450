"""Stream handles: where a state's bytes are. Tag 0 is no stream."""

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
    tag = window.byte()
    if tag == StreamTag.NULL:
        return None
    reader = _READERS.get(tag)
    if reader is None:
        raise window.unknown_tag(tag)
    return reader(reading)


def require_stream(reading: Reading) -> Stream:
    position = reading.window.position
    stream = read_stream(reading)
    if stream is None:
        raise DamagedMetadata(position, message("no file where one is needed"))
    return stream


def _bytes(reading: Reading) -> Stream:
    window = reading.window
    name = window.text()
    size = window.count()
    position = window.position
    window.skip(size)
    return Stream("ByteStreamStateHandle", size, inline_at=position, name=name)


def _file(reading: Reading) -> Stream:
    window = reading.window
    size = window.size()
    path = reading.path()
    return Stream("FileStateHandle", size, path, path)


def _relative(reading: Reading) -> Stream:
    window = reading.window
    written_path = window.text()
    size = window.size()
    return Stream(
        "RelativeFileStateHandle", size, f"{reading.directory}/{written_path}", written_path
    )


def _key_groups(reading: Reading) -> Stream | None:
    window = reading.window
    window.int32()  # the first key group
    window.skip(8 * window.count())  # offsets
    with window.nested(message("handles")):
        inner = read_stream(reading)
    return inner and inner._replace(handle_class="KeyGroupsStateHandle")


def _segment(reading: Reading) -> Stream:
    window = reading.window
    start = window.size()
    size = window.size()
    scope = window.int32()
    if scope not in (0, 1):
        raise window.wrong_number(4, scope)
    path = reading.path()
    name = window.text()
    return Stream("SegmentFileStateHandle", size, path, path, start, name=name)


_READERS: dict[int, Callable[[Reading], Stream | None]] = {
    StreamTag.BYTES: _bytes,
    StreamTag.FILE: _file,
    StreamTag.KEY_GROUPS: _key_groups,
    StreamTag.RELATIVE: _relative,
    StreamTag.SEGMENT: _segment,
    StreamTag.EMPTY_SEGMENT: lambda _: EMPTY_SEGMENT,
}
