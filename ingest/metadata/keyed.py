"""Keyed state handles: key groups, incremental state and changelogs."""

from collections.abc import Callable

from ingest.messages import message
from ingest.metadata import file_runs
from ingest.metadata.dialects import DamagedMetadata, UnsupportedMetadata
from ingest.metadata.file_runs import RawRun, take_run
from ingest.metadata.pieces import FileRun, Handle, Keyed, KeyedState, Operator, Stream
from ingest.metadata.reading import Reading
from ingest.metadata.streams import read_stream, require_stream

Part = Handle | FileRun


class Place:
    """The owner of the state that is read; ``prefix`` goes before the kind of each part."""

    __slots__ = ("operator", "prefix", "subtask")

    def __init__(self, operator: Operator, subtask: int, prefix: str = "") -> None:
        self.operator = operator
        self.subtask = subtask
        self.prefix = prefix

    def within(self, prefix: str) -> "Place":
        return Place(self.operator, self.subtask, self.prefix + prefix)


def read_keyed_state(
    reading: Reading, operator: Operator, subtask: int, *, raw: bool
) -> KeyedState | None:
    reading.parts = 0
    keyed_state = _read(reading, Place(operator, subtask, "raw-" if raw else ""))
    return keyed_state and KeyedState(operator, subtask, raw, *keyed_state)


def _read(reading: Reading, place: Place) -> tuple[Keyed, list[Part]] | None:
    window = reading.window
    tag = window.byte(message("the tag of a keyed state handle"))
    if tag == 0:
        return None
    reader = _READERS.get(tag)
    if reader is None:
        known = ", ".join(map(str, sorted([0, *_READERS])))
        raise UnsupportedMetadata(
            window.position - 1,
            message("the tag of a keyed state handle ({known:name})", known=known),
            str(tag),
        )
    return reader(reading, place)


def _range(reading: Reading) -> tuple[int, int]:
    first = reading.window.int32(message("the first key group"))
    return first, reading.window.count(message("the number of key groups"))


def _known_size(reading: Reading, expected: str) -> int | None:
    """``None`` if Flink wrote -1."""
    size = reading.window.int64(expected)
    return None if size < 0 else size


def _key_groups(
    state_class: str, *, with_id: bool
) -> Callable[[Reading, Place], tuple[Keyed, list[Part]]]:
    def read(reading: Reading, place: Place) -> tuple[Keyed, list[Part]]:
        window = reading.window
        first, count = _range(reading)
        window.skip(8 * count, message("offsets of key groups"))
        stream = read_stream(reading)
        handle_id = window.text(message("the id of a keyed state")) if with_id else None
        size = stream.bytes if stream else 0
        keyed = Keyed(state_class, first, count, handle_id=handle_id, checkpointed_bytes=size)
        return keyed, [
            Handle(
                place.operator,
                place.subtask,
                f"{place.prefix}keygroups",
                state_class,
                stream,
                size,
                keyed=keyed,
            )
        ]

    return read


def _incremental(*, new: bool) -> Callable[[Reading, Place], tuple[Keyed, list[Part]]]:
    def read(reading: Reading, place: Place) -> tuple[Keyed, list[Part]]:
        window = reading.window
        checkpoint_id = window.int64(message("the checkpoint of an incremental state"))
        backend_id = window.text(message("the backend of an incremental state"))
        first, count = _range(reading)
        uploaded = (
            _known_size(reading, message("the uploaded size of an incremental state"))
            if new
            else None
        )
        meta = read_stream(reading)
        shared = _files(reading)
        private = _files(reading)
        handle_id = window.text(message("the id of a keyed state")) if new else None
        state_class = "IncrementalRemoteKeyedStateHandle"
        keyed = Keyed(state_class, first, count, backend_id, checkpoint_id, handle_id, uploaded)
        parts = [*_parts(place, "shared", keyed, shared), *_parts(place, "private", keyed, private)]
        size = meta.bytes if meta else 0
        parts.append(
            Handle(
                place.operator,
                place.subtask,
                f"{place.prefix}meta",
                state_class,
                meta,
                size,
                keyed=keyed,
            )
        )
        return keyed, parts

    return read


_Files = list[RawRun | tuple[str, Stream | None]]


def _files(reading: Reading) -> _Files:
    window = reading.window
    left = window.count(message("the number of files of an incremental state"))
    files: _Files = []
    while left:
        position = window.position
        run = take_run(window, left)
        if run is not None:
            if reading.places is not None:
                reading.places.extend(run.path_places(position))
            files.append(run)
            left -= run[2]
        else:
            reading.one_more_part()
            files.append((window.text(message("the local name of a file")), read_stream(reading)))
            left -= 1
    return files


def _parts(place: Place, kind: str, keyed: Keyed, files: _Files) -> list[Part]:
    operator, subtask, kind = place.operator, place.subtask, place.prefix + kind
    state_class = keyed.state_class
    return [
        file.of(operator, subtask, kind, keyed)
        if isinstance(file, RawRun)
        else Handle(
            operator,
            subtask,
            kind,
            state_class,
            file[1],
            file[1].bytes if file[1] else 0,
            file[0],
            keyed,
        )
        for file in files
    ]


def _changelog(*, with_checkpoint: bool) -> Callable[[Reading, Place], tuple[Keyed, list[Part]]]:
    def read(reading: Reading, place: Place) -> tuple[Keyed, list[Part]]:
        window = reading.window
        reading.in_doubt = True
        old = reading.dialect.old_changelog and not with_checkpoint
        first, count = _range(reading)
        uploaded = (
            None if old else _known_size(reading, message("the uploaded size of a changelog"))
        )
        with reading.nested(message("a changelog")):
            parts = _several(reading, place.within("changelog-materialized-"))
            parts += _several(reading, place.within("changelog-"))
        materialization = (
            None if old else window.int64(message("the materialization of a changelog"))
        )
        checkpoint_id = (
            window.int64(message("the checkpoint of a changelog")) if with_checkpoint else None
        )
        handle_id = None if old else window.text(message("the id of a keyed state"))
        state_class = "ChangelogStateBackendHandleImpl"
        keyed = Keyed(
            state_class,
            first,
            count,
            None,
            checkpoint_id,
            handle_id,
            uploaded,
            materialization_id=materialization,
        )
        parts.append(
            Handle(
                place.operator,
                place.subtask,
                f"{place.prefix}changelog-handle",
                state_class,
                None,
                0,
                keyed=keyed,
            )
        )
        return keyed, parts

    return read


def _several(reading: Reading, place: Place) -> list[Part]:
    parts: list[Part] = []
    for _ in range(reading.window.count(message("the number of states of a changelog"))):
        reading.one_more_part()
        position = reading.window.position
        several = _read(reading, place)
        if several is None:
            raise DamagedMetadata(position, message("a state of a changelog"), message("none"))
        parts += several[1]
    return parts


def _inline_increment(reading: Reading, place: Place) -> tuple[Keyed, list[Part]]:
    """Changes stored in the ``_metadata`` itself, by key group (-1: a change of metadata)."""
    window = reading.window
    reading.in_doubt = True
    first, count = _range(reading)
    start = window.int64(message("the first sequence number of changes"))
    end = window.int64(message("the last sequence number of changes"))
    position, size = window.position, 0
    for _ in range(window.count(message("the number of changes"))):
        window.int32(message("the key group of a change"))
        length = window.count(message("the length of a change"))
        window.skip(length, message("a change"))
        size += length
    handle_id = (
        None if reading.dialect.old_changelog else window.text(message("the id of a keyed state"))
    )
    state_class = "InMemoryChangelogStateHandle"
    keyed = Keyed(
        state_class,
        first,
        count,
        handle_id=handle_id,
        checkpointed_bytes=size,
        total_bytes=size,
        sequence=(start, end),
    )
    changes = Stream(state_class, size, inline_at=position)
    return keyed, [
        Handle(
            place.operator,
            place.subtask,
            f"{place.prefix}other",
            state_class,
            changes,
            size,
            keyed=keyed,
        )
    ]


def _file_increment(*, with_storage: bool) -> Callable[[Reading, Place], tuple[Keyed, list[Part]]]:
    def read(reading: Reading, place: Place) -> tuple[Keyed, list[Part]]:
        window = reading.window
        reading.in_doubt = True
        old = reading.dialect.old_changelog and not with_storage
        first, count = _range(reading)
        streams = []
        for _ in range(window.count(message("the number of files of changes"))):
            reading.one_more_part()
            streams.append(
                (
                    window.int64(message("the offset of changes")),
                    require_stream(reading, message("logged changes")),
                )
            )
        total = window.size(message("the size of changes"))
        uploaded = None if old else _known_size(reading, message("the uploaded size of changes"))
        handle_id = None if old else window.text(message("the id of a keyed state"))
        storage = window.text(message("the storage of changes")) if with_storage else None
        state_class = "ChangelogStateHandleStreamImpl"
        keyed = Keyed(
            state_class,
            first,
            count,
            handle_id=handle_id,
            checkpointed_bytes=uploaded,
            total_bytes=total,
            storage=storage,
        )
        kind = f"{place.prefix}stream"
        return keyed, [
            # The handle knows one size for all its files; it is counted once.
            Handle(
                place.operator,
                place.subtask,
                kind,
                state_class,
                stream,
                0 if number else total,
                keyed=keyed,
                stream_offset=offset,
            )
            for number, (offset, stream) in enumerate(streams)
        ]

    return read


_READERS: dict[int, Callable[[Reading, Place], tuple[Keyed, list[Part]]]] = {
    3: _key_groups("KeyGroupsStateHandle", with_id=False),
    5: _incremental(new=False),
    7: _key_groups("KeyGroupsSavepointStateHandle", with_id=False),
    8: _changelog(with_checkpoint=False),
    9: _inline_increment,
    10: _file_increment(with_storage=False),
    11: _incremental(new=True),
    12: _key_groups("KeyGroupsStateHandle", with_id=True),
    13: _file_increment(with_storage=True),
    14: _changelog(with_checkpoint=True),
}


def state_bytes(part: Part) -> int:
    """What a part adds to the size of its subtask's state."""
    return sum(file_runs.sizes(part)) if isinstance(part, FileRun) else part.state_bytes
