from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ingest.messages import message
from ingest.metadata import file_runs
from ingest.metadata.dialects import DamagedMetadata
from ingest.metadata.file_runs import RawRun, take_run
from ingest.metadata.pieces import FileRun, Handle, Keyed, KeyedState, Operator, Stream
from ingest.metadata.reading import Reading
from ingest.metadata.streams import read_stream, require_stream

Part = Handle | FileRun
State = tuple[Keyed, list[Part]]


class StateOwner(NamedTuple):
    """The subtask that owns the state. ``prefix`` is put before the kind of each part."""

    operator: Operator
    subtask: int
    prefix: str = ""

    def with_prefix(self, prefix: str) -> "StateOwner":
        return self._replace(prefix=self.prefix + prefix)

    def handle(
        self,
        kind: str,
        keyed: Keyed,
        stream: Stream | None,
        size: int,
        local_name: str | None = None,
    ) -> Handle:
        kind = self.prefix + kind
        state_class = keyed.state_class
        return Handle(
            self.operator, self.subtask, kind, state_class, stream, size, local_name, keyed
        )


def read_keyed_state(
    reading: Reading, operator: Operator, subtask: int, *, raw: bool
) -> KeyedState | None:
    reading.parts = 0
    keyed_state = _read(reading, StateOwner(operator, subtask, "raw-" if raw else ""))
    return keyed_state and KeyedState(operator, subtask, raw, *keyed_state)


def _read(reading: Reading, owner: StateOwner) -> State | None:
    window = reading.window
    tag = window.byte()
    if tag == 0:
        return None
    reader = _READERS.get(tag)
    if reader is None:
        raise window.unknown_tag(tag)
    return reader(reading, owner)


def _key_groups(reading: Reading) -> int:
    reading.window.int32()  # the first key group
    return reading.window.count()


def _uploaded_bytes(reading: Reading) -> int | None:
    size = reading.window.int64()
    return None if size < 0 else size


def _size(stream: Stream | None) -> int:
    return stream.bytes if stream else 0


def _read_key_groups(reading: Reading, owner: StateOwner, state_class: str, with_id: bool) -> State:
    reading.window.skip(8 * _key_groups(reading))
    stream = read_stream(reading)
    handle_id = reading.window.text() if with_id else None
    keyed = Keyed(state_class, handle_id=handle_id, checkpointed_bytes=_size(stream))
    return keyed, [owner.handle("keygroups", keyed, stream, _size(stream))]


def _incremental(reading: Reading, owner: StateOwner, new: bool) -> State:
    window = reading.window
    window.int64()  # the checkpoint
    backend_id = window.text()
    _key_groups(reading)
    uploaded = _uploaded_bytes(reading) if new else None
    meta = read_stream(reading)
    shared = _read_files(reading)
    private = _read_files(reading)
    handle_id = window.text() if new else None
    keyed = Keyed("IncrementalRemoteKeyedStateHandle", backend_id, handle_id, uploaded)
    return keyed, [
        *_parts_of(owner, "shared", keyed, shared),
        *_parts_of(owner, "private", keyed, private),
        owner.handle("meta", keyed, meta, _size(meta)),
    ]


_Files = list[RawRun | tuple[str, Stream | None]]


def _read_files(reading: Reading) -> _Files:
    window = reading.window
    remaining = window.count()
    files: _Files = []
    while remaining:
        position = window.position
        run = take_run(window, remaining)
        if run is not None:
            if reading.paths_at is not None:
                reading.paths_at.extend(run.paths_at(position))
            files.append(run)
            remaining -= run[2]
        else:
            reading.one_more_part()
            files.append((window.text(), read_stream(reading)))
            remaining -= 1
    return files


def _parts_of(owner: StateOwner, kind: str, keyed: Keyed, files: _Files) -> list[Part]:
    return [
        file.of(owner.operator, owner.subtask, owner.prefix + kind, keyed)
        if isinstance(file, RawRun)
        else owner.handle(kind, keyed, file[1], _size(file[1]), file[0])
        for file in files
    ]


def _changelog(reading: Reading, owner: StateOwner, with_checkpoint: bool) -> State:
    window = reading.window
    reading.in_doubt = True
    is_old = reading.dialect.old_changelog and not with_checkpoint
    _key_groups(reading)
    uploaded = None if is_old else _uploaded_bytes(reading)
    with window.nested(message("handles")):
        parts = _nested_parts(reading, owner.with_prefix("changelog-materialized-"))
        parts += _nested_parts(reading, owner.with_prefix("changelog-"))
    if not is_old:
        window.int64()  # the materialization
    if with_checkpoint:
        window.int64()
    handle_id = None if is_old else window.text()
    keyed = Keyed("ChangelogStateBackendHandleImpl", None, handle_id, uploaded)
    return keyed, [*parts, owner.handle("changelog-handle", keyed, None, 0)]


def _nested_parts(reading: Reading, owner: StateOwner) -> list[Part]:
    parts: list[Part] = []
    for _ in range(reading.window.count()):
        reading.one_more_part()
        position = reading.window.position
        state = _read(reading, owner)
        if state is None:
            raise DamagedMetadata(position, message("no state where one is needed"))
        parts += state[1]
    return parts


def _inline_increment(reading: Reading, owner: StateOwner) -> State:
    """Changes inside the ``_metadata``, by key group (-1: a change of metadata)."""
    window = reading.window
    reading.in_doubt = True
    _key_groups(reading)
    window.skip(16)  # the first and the last sequence number
    position, size = window.position, 0
    for _ in range(window.count()):
        window.int32()  # the key group
        length = window.count()
        window.skip(length)
        size += length
    handle_id = None if reading.dialect.old_changelog else window.text()
    state_class = "InMemoryChangelogStateHandle"
    keyed = Keyed(state_class, handle_id=handle_id, checkpointed_bytes=size)
    changes = Stream(state_class, size, inline_at=position)
    return keyed, [owner.handle("other", keyed, changes, size)]


def _file_increment(reading: Reading, owner: StateOwner, with_storage: bool) -> State:
    window = reading.window
    reading.in_doubt = True
    is_old = reading.dialect.old_changelog and not with_storage
    _key_groups(reading)
    streams = []
    for _ in range(window.count()):
        reading.one_more_part()
        window.int64()  # the offset
        streams.append(require_stream(reading))
    total = window.size()
    uploaded = None if is_old else _uploaded_bytes(reading)
    handle_id = None if is_old else window.text()
    if with_storage:
        window.text()  # the storage
    keyed = Keyed("ChangelogStateHandleStreamImpl", None, handle_id, uploaded)
    # The handle has one size for all its files, which the first part gets.
    return keyed, [
        owner.handle("stream", keyed, stream, 0 if number else total)
        for number, stream in enumerate(streams)
    ]


_READERS: dict[int, Callable[[Reading, StateOwner], State]] = {
    3: partial(_read_key_groups, state_class="KeyGroupsStateHandle", with_id=False),
    5: partial(_incremental, new=False),
    7: partial(_read_key_groups, state_class="KeyGroupsSavepointStateHandle", with_id=False),
    8: partial(_changelog, with_checkpoint=False),
    9: _inline_increment,
    10: partial(_file_increment, with_storage=False),
    11: partial(_incremental, new=True),
    12: partial(_read_key_groups, state_class="KeyGroupsStateHandle", with_id=True),
    13: partial(_file_increment, with_storage=True),
    14: partial(_changelog, with_checkpoint=True),
}


def state_bytes(part: Part) -> int:
    return sum(file_runs.sizes(part)) if isinstance(part, FileRun) else part.state_bytes
