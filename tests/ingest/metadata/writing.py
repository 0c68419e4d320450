"""Writers of ``_metadata`` bytes, put down from the format's description and not from the reader.

Each function returns the bytes of one element; ``body`` and ``file`` put them together.
"""

from pathlib import Path
from struct import pack

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "metadata"
PROPERTIES = (FIXTURES / "properties-1.20.5.bin").read_bytes()
OPERATOR_ID = bytes(range(16))
NULL = b"\x00"


def utf(text: str) -> bytes:
    """Java's ``writeUTF``: each UTF-16 unit on its own, NUL as two bytes."""
    units = text.encode("utf-16-be", "surrogatepass")
    out = b""
    for place in range(0, len(units), 2):
        unit = int.from_bytes(units[place : place + 2], "big")
        out += b"\xc0\x80" if unit == 0 else chr(unit).encode("utf-8", "surrogatepass")
    return pack(">H", len(out)) + out


def byte_stream(name: str, content: bytes) -> bytes:
    return b"\x01" + utf(name) + pack(">i", len(content)) + content


def file(size: int, path: str) -> bytes:
    return b"\x02" + pack(">q", size) + utf(path)


def relative(path: str, size: int) -> bytes:
    return b"\x06" + utf(path) + pack(">q", size)


def segment(start: int, size: int, scope: int, path: str, logical: str) -> bytes:
    return b"\x0f" + pack(">qqi", start, size, scope) + utf(path) + utf(logical)


EMPTY_SEGMENT = b"\x10"


def groups(first: int, count: int) -> bytes:
    return pack(">ii", first, count)


def key_groups(
    tag: int, first: int, offsets: list[int], stream: bytes, handle_id: str | None = None
) -> bytes:
    out = bytes([tag]) + groups(first, len(offsets)) + pack(f">{len(offsets)}q", *offsets) + stream
    return out if handle_id is None else out + utf(handle_id)


def files(entries: dict[str, bytes]) -> bytes:
    return pack(">i", len(entries)) + b"".join(
        utf(name) + stream for name, stream in entries.items()
    )


def incremental(
    meta: bytes,
    shared: dict[str, bytes],
    private: dict[str, bytes],
    *,
    new: bool,
    uploaded: int = 77,
    checkpoint: int = 5,
    backend: str = "backend-1",
) -> bytes:
    head = bytes([11 if new else 5]) + pack(">q", checkpoint) + utf(backend) + groups(0, 64)
    tail = meta + files(shared) + files(private)
    return head + pack(">q", uploaded) + tail + utf("keyed-id") if new else head + tail


def changelog(
    base: list[bytes], delta: list[bytes], tail: bytes, *, tag: int = 8, uploaded: int | None = None
) -> bytes:
    head = bytes([tag]) + groups(0, 64) + (b"" if uploaded is None else pack(">q", uploaded))
    return (
        head
        + pack(">i", len(base))
        + b"".join(base)
        + pack(">i", len(delta))
        + b"".join(delta)
        + tail
    )


def inline_changes(changes: list[tuple[int, bytes]], tail: bytes) -> bytes:
    out = b"\x09" + groups(0, 64) + pack(">qqi", 3, 9, len(changes))
    return (
        out + b"".join(pack(">ii", group, len(change)) + change for group, change in changes) + tail
    )


def file_changes(
    streams: list[tuple[int, bytes]], total: int, tail: bytes, *, tag: int = 10
) -> bytes:
    out = bytes([tag]) + groups(0, 64) + pack(">i", len(streams))
    return (
        out
        + b"".join(pack(">q", offset) + stream for offset, stream in streams)
        + pack(">q", total)
        + tail
    )


def partitionable(states: list[tuple[str, int, list[int]]], stream: bytes) -> bytes:
    return b"\x04" + _states(states) + stream


def segment_partitionable(
    states: list[tuple[str, int, list[int]]],
    task_owned: str,
    shared: str,
    stream: bytes,
    *,
    empty: bool,
) -> bytes:
    return b"\x11" + _states(states) + utf(task_owned) + utf(shared) + bytes([empty]) + stream


def _states(states: list[tuple[str, int, list[int]]]) -> bytes:
    out = pack(">i", len(states))
    for name, mode, offsets in states:
        out += (
            utf(name)
            + bytes([mode])
            + pack(">i", len(offsets))
            + pack(f">{len(offsets)}q", *offsets)
        )
    return out


def channel(
    a: int,
    b: int,
    offsets: list[int],
    size: int,
    stream: bytes,
    *,
    subtask: int | None,
    type_: int | None = None,
) -> bytes:
    out = b"" if type_ is None else bytes([type_])
    out += b"" if subtask is None else pack(">i", subtask)
    return (
        out
        + pack(">iii", a, b, len(offsets))
        + pack(f">{len(offsets)}q", *offsets)
        + pack(">q", size)
        + stream
    )


def merged_channel(type_: int, subtask: int, size: int, stream: bytes, offsets: bytes) -> bytes:
    return bytes([type_]) + pack(">iq", subtask, size) + stream + pack(">i", len(offsets)) + offsets


def subtask(
    version: int,
    index: int,
    *,
    managed: bytes = b"",
    raw: bytes = b"",
    keyed: bytes = NULL,
    raw_keyed: bytes = NULL,
    inputs: list[bytes] | None = None,
    outputs: list[bytes] | None = None,
    origin: int | None = None,
) -> bytes:
    out = pack(">i", index)
    if version == 2:
        out += pack(">qi", -1, 0)
    for state in (managed, raw):
        out += pack(">i", 1) + state if state else pack(">i", 0)
    out += keyed + raw_keyed
    if version >= 3:
        for channels in (inputs or [], outputs or []):
            out += pack(">i", len(channels)) + b"".join(channels)
    if version == 7:
        out += b"\x00" if origin is None else b"\x01" + pack(">q", origin)
    return out


def finished_subtask(index: int) -> bytes:
    return pack(">i", -index - 1)


def operator(
    version: int,
    subtasks: list[bytes] | None,
    *,
    parallelism: int = 2,
    name: str = "",
    uid: str = "",
    coordinator: bytes = NULL,
    operator_id: bytes = OPERATOR_ID,
) -> bytes:
    """``subtasks`` is ``None`` where the whole operator has finished."""
    out = utf(name) + utf(uid) if version >= 5 else b""
    out += operator_id + pack(">ii", parallelism, 128)
    out += pack(">i", 1) if version == 2 else coordinator
    return out + pack(">i", -1 if subtasks is None else len(subtasks)) + b"".join(subtasks or [])


def master_state(name: str, version: int, content: bytes) -> bytes:
    inner = pack(">i", version) + utf(name) + pack(">i", len(content)) + content
    return pack(">Ii", 0xC96B1696, len(inner)) + inner


def metadata(
    version: int, operators: list[bytes], *, checkpoint: int = 7, masters: list[bytes] | None = None
) -> bytes:
    masters = masters or []
    out = pack(">Iiqi", 0x4960672D, version, checkpoint, len(masters)) + b"".join(masters)
    out += pack(">i", len(operators)) + b"".join(operators)
    return out + PROPERTIES if version >= 4 else out
