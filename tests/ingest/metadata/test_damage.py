"""Incomplete, damaged and forged files: one named error with a position, in bounded time and
memory.
"""

import io
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import Skipped
from ingest.metadata.columns import batches
from ingest.metadata.dialects import DamagedMetadata, IncompleteMetadata, MetadataError
from ingest.metadata.handles import handles
from ingest.metadata.reader import read_pieces
from tests.ingest.metadata import samples
from tests.ingest.metadata import writing as w
from tests.ingest.metadata.reading import DIRECTORY, lines, pieces, rows, summary
from tests.ingest.metadata.test_recorded import unpacked
from tests.selections import mostly_long

RECORDED = {
    name: unpacked(name)
    for name in (
        "1.12.5-G-sp-savepoint-a62f25-4487054b5351",
        "1.20.5-G-sp-savepoint-4225ee-108a2af30075",
        "1.20.5-K-7cd4dd-chk-1",
        "1.20.5-L2-27f570-chk-4",
    )
}
VALID = {**samples.ALL, **RECORDED}
LONGEST_S = 2.0
MOST_BYTES = 32 << 20


@contextmanager
def bounded() -> Iterator[None]:
    """Fails where its block takes too long or too much memory."""
    tracemalloc.start()
    started = time.thread_time()
    try:
        yield
        assert time.thread_time() - started < LONGEST_S
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", mostly_long(VALID, short=5))
def test_a_file_cut_anywhere_never_looks_complete(name: str) -> None:
    written = VALID[name]
    step = 1 if len(written) < 4_000 else 41
    for length in range(0, len(written), step):
        with pytest.raises(MetadataError) as raised:
            pieces(written[:length])
        assert 0 <= raised.value.position <= length


@pytest.mark.parametrize("name", VALID)
def test_bytes_after_the_end_are_damage(name: str) -> None:
    with pytest.raises(MetadataError):
        pieces(VALID[name] + b"\0")


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(VALID)), st.data())
def test_flipped_bytes_read_to_the_exact_end_or_raise_the_named_error(
    name: str, data: st.DataObject
) -> None:
    forged = bytearray(VALID[name])
    for _ in range(data.draw(st.integers(1, 3))):
        forged[data.draw(st.integers(0, len(forged) - 1))] = data.draw(st.integers(0, 255))
    started = time.thread_time()
    try:
        summary(bytes(forged))
        lines(bytes(forged))
        for batch in batches(pieces(bytes(forged))):
            batch.validate(full=True)
    except MetadataError as error:
        assert 0 <= error.position <= len(forged)
    assert time.thread_time() - started < LONGEST_S


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(VALID)), st.data())
def test_forged_numbers_cost_neither_time_nor_memory(name: str, data: st.DataObject) -> None:
    written = VALID[name]
    place = data.draw(st.integers(8, len(written) - 4))
    forged = (
        written[:place]
        + data.draw(
            st.sampled_from(
                [b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\x00\xff\xff\xff"]
            )
        )
        + written[place + 4 :]
    )
    with bounded():
        try:
            pieces(forged)
        except MetadataError as error:
            assert 0 <= error.position <= len(forged)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([2, 3, 4, 5, 6, 7]))
def test_junk_after_the_version_raises_the_named_error(junk: bytes, version: int) -> None:
    with pytest.raises(MetadataError):
        pieces(pack(">Ii", 0x4960672D, version) + junk)


HUGE = pack(">i", 2**31 - 1)
HEAD = w.metadata(3, [w.operator(3, [w.subtask(3, 0)])])[:-10]
"""Up to the managed keyed state of one subtask."""


@pytest.mark.parametrize(
    "state",
    [
        b"\x0b" + pack(">q", 1) + w.utf("b") + w.groups(0, 1) + pack(">q", 0) + w.NULL + HUGE,
        b"\x0b"
        + pack(">q", 1)
        + w.utf("b")
        + w.groups(0, 1)
        + pack(">q", 0)
        + b"\x01"
        + w.utf("inline")
        + HUGE,
        b"\x03" + pack(">i", 0) + HUGE,
        b"\x09" + w.groups(0, 1) + pack(">qq", 0, 0) + HUGE,
        b"\x0a" + w.groups(0, 1) + HUGE,
        b"\x08" + w.groups(0, 1) + pack(">q", 0) + HUGE,
        w.NULL + w.NULL + HUGE,
        w.NULL + w.NULL + pack(">iiii", 1, 0, 0, 0) + HUGE,
    ],
)
def test_a_forged_length_allocates_nothing(state: bytes) -> None:
    with bounded(), pytest.raises(MetadataError):
        pieces(HEAD + state + bytes(5))


def test_many_tiny_entries_are_bounded_by_a_limit_of_their_own() -> None:
    entry = w.utf("") + w.EMPTY_SEGMENT
    count = 600_000
    state = (
        b"\x0b"
        + pack(">q", 1)
        + w.utf("b")
        + w.groups(0, 1)
        + pack(">q", 0)
        + w.NULL
        + pack(">i", count)
        + entry * count
    )
    with pytest.raises(DamagedMetadata, match="more than 500,000 handles in one keyed state"):
        pieces(HEAD + state)


@pytest.mark.parametrize(
    "level", [b"\x08" + w.groups(0, 1) + pack(">qi", 0, 1), b"\x03" + pack(">ii", 0, 0)]
)
def test_handles_in_handles_do_not_exhaust_the_stack(level: bytes) -> None:
    start = HEAD if level[0] == 8 else HEAD + b"\x03" + pack(">ii", 0, 0)
    with bounded(), pytest.raises(DamagedMetadata, match="more than 16 handles in each other"):
        pieces(start + level * 100_000)


def test_objects_in_objects_of_the_properties_do_not_exhaust_the_stack() -> None:
    class_ = (
        b"\x72"
        + w.utf("A")
        + bytes(8)
        + b"\x02"
        + pack(">H", 1)
        + b"L"
        + w.utf("f")
        + b"\x74"
        + w.utf("LA;")
        + b"\x78\x70"
    )
    forged = samples.V4[: -len(w.PROPERTIES)] + b"\xac\xed\x00\x05" + (b"\x73" + class_) * 10_000
    with bounded(), pytest.raises(DamagedMetadata, match="more than 16 objects and classes"):
        pieces(forged)


def test_inline_state_of_any_size_passes_through_a_window() -> None:
    class Endless(io.RawIOBase):
        """Inline state of 200 MB, made while it is read."""

        def __init__(self) -> None:
            self.left = 200_000_000
            self.head = (
                HEAD
                + b"\x03"
                + pack(">ii", 0, 0)
                + b"\x01"
                + w.utf("inline")
                + pack(">i", self.left)
            )
            self.tail = bytes(9)

        def read(self, size: int = -1) -> bytes:
            if self.head:
                some, self.head = self.head[:size], self.head[size:]
            elif self.left:
                some = bytes(min(size, self.left))
                self.left -= len(some)
            else:
                some, self.tail = self.tail[:size], self.tail[size:]
            return some

    tracemalloc.start()
    (handle,) = handles(read_pieces(Endless, DIRECTORY))  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert handle.state_bytes == 200_000_000 and peak < MOST_BYTES


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(VALID)), st.integers(1, 700))
def test_short_reads_change_nothing(name: str, most: int) -> None:
    class Short(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or most, most))

    written = VALID[name]
    short = list(handles(read_pieces(lambda: Short(written), DIRECTORY)))
    assert short == rows(written)


def test_errors_name_their_position_and_are_skippable() -> None:
    with pytest.raises(MetadataError) as raised:
        pieces(samples.V5[:20])
    assert isinstance(raised.value, Skipped) and isinstance(raised.value, IncompleteMetadata)
    assert str(raised.value) == ("at byte 20: the file ends after 20 bytes")


def test_a_negative_size_is_damage_also_in_the_middle_of_many_files() -> None:
    files = {
        f"{number:06d}.sst": w.file(-1 if number == 30 else 5, f"file:/shared/{number:04d}")
        for number in range(60)
    }
    with pytest.raises(DamagedMetadata, match="the impossible number -1"):
        pieces(
            w.metadata(
                4,
                [
                    w.operator(
                        4, [w.subtask(4, 0, keyed=w.incremental(w.NULL, files, {}, new=True))]
                    )
                ],
            )
        )


def test_text_that_is_no_modified_utf_8_is_damage_also_in_the_middle_of_many_files() -> None:
    files = {f"{number:06d}.sst": w.file(5, f"file:/shared/{number:04d}") for number in range(60)}
    written = w.metadata(
        4, [w.operator(4, [w.subtask(4, 0, keyed=w.incremental(w.NULL, files, {}, new=True))])]
    )
    place = written.index(b"shared/0030")
    with pytest.raises(DamagedMetadata, match="not in modified UTF-8") as raised:
        pieces(written[:place] + b"\xff" + written[place + 1 :])
    assert raised.value.position == place
