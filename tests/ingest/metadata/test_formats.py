"""Versions, dialects and handles that no recording has, from bytes written after the format's
description.
"""

from struct import pack

import pytest

from ingest.metadata.dialects import DamagedMetadata, UnsupportedMetadata
from ingest.metadata.pieces import Handle, Header, ListState, Operator, Subtask
from tests.ingest.metadata import samples
from tests.ingest.metadata import writing as w
from tests.ingest.metadata.reading import DIRECTORY, lines, pieces, rows, summary


def kinds(found: list[Handle]) -> list[str]:
    return [handle.kind for handle in found]


def one(written: bytes, kind: str) -> Handle:
    return next(handle for handle in rows(written) if handle.kind == kind)


@pytest.mark.parametrize(
    ("sample", "dialect"),
    [
        ("2", "1.3 to 1.10"),
        ("3 (1.11)", "1.11"),
        ("3 (1.12)", ("1.12 to 1.15")),
        ("3 (1.14)", "1.14"),
        ("3 (1.15)", "1.12 to 1.15"),
        ("4", "1.16 to 1.20"),
        ("5", "2.0"),
        ("6", "2.1 to 2.3"),
        ("7", "newer than 2.3"),
    ],
)
def test_each_release_is_recognised_by_its_bytes(sample: str, dialect: str) -> None:
    header = pieces(samples.ALL[sample])[0]
    assert isinstance(header, Header)
    assert (header.dialect.version, header.dialect.name) == (int(sample[0]), dialect)


@pytest.mark.parametrize(
    ("version", "words"),
    [(1, "Flink 1.2 or older"), (8, "format version 8"), (0, "2 to 7"), (-1, "-1")],
)
def test_other_versions_are_refused_by_name(version: int, words: str) -> None:
    with pytest.raises(UnsupportedMetadata, match=words):
        pieces(pack(">Ii", 0x4960672D, version) + bytes(100))


def test_something_else_is_not_taken_for_metadata() -> None:
    with pytest.raises(DamagedMetadata, match="at byte 0: no magic number"):
        pieces(b"PAR1 and so on")


def test_version_2_has_paddings_master_states_and_old_handles() -> None:
    header = pieces(samples.V2)[0]
    assert isinstance(header, Header)
    assert header.master_states == ("hook", "other")
    assert kinds(rows(samples.V2)) == [
        "managed-op",
        "raw-op",
        "shared",
        "shared",
        "shared",
        "private",
        "private",
        "meta",
        "keygroups",
        "raw-keygroups",
    ]


def test_legacy_state_of_1_2_is_refused() -> None:
    written = w.operator(2, [pack(">iqi", 0, -1, 1)])
    with pytest.raises(UnsupportedMetadata, match=r"state of Flink 1\.2"):
        pieces(w.metadata(2, [written]))


def test_operator_state_has_names_modes_and_numbers_of_offsets() -> None:
    states = one(samples.V4, "managed-op").states
    assert states == (
        ListState("split", "SPLIT_DISTRIBUTE", 2),
        ListState("union", "UNION", 1),
        ListState("broadcast", "BROADCAST", 1),
    )


def test_incremental_state_old_and_new() -> None:
    old, new = one(samples.V2, "shared"), one(samples.V5, "shared")
    assert old.keyed and new.keyed
    assert (old.keyed.handle_id, old.keyed.checkpointed_bytes) == (None, None)
    assert (
        new.keyed.handle_id,
        new.keyed.checkpointed_bytes,
        new.keyed.backend_id,
    ) == ("keyed-id", 77, "backend-1")


def test_inline_state_is_counted_located_and_in_no_file() -> None:
    stream = one(samples.V5, "meta").stream
    assert (
        stream
        and stream.path is None
        and stream.inline_at
        and (stream.bytes, stream.name) == (4, "chk-7/meta")
    )
    assert samples.V5[stream.inline_at : stream.inline_at + stream.bytes] == b"meta"


def test_relative_paths_are_resolved_and_kept_as_written() -> None:
    stream = one(samples.V3_1_12, "keygroups").stream
    assert stream and (stream.path, stream.written_path, stream.bytes) == (
        f"{DIRECTORY}/savepoint",
        "savepoint",
        8,
    )


def test_key_groups_in_the_place_of_a_stream_still_name_their_file() -> None:
    stream = rows(samples.V4)[-1].stream
    assert stream and (stream.handle_class, stream.path, stream.bytes) == (
        "KeyGroupsStateHandle",
        "s3://b/nested",
        33,
    )


def test_segments_have_a_place_in_a_file() -> None:
    stream = next(handle for handle in rows(samples.V4) if handle.kind == "meta").stream
    assert stream and (stream.path, stream.offset, stream.bytes, stream.name) == (
        "s3://b/g",
        0,
        4,
        "m",
    )


def test_merged_operator_state_keeps_its_directories_also_where_it_is_empty() -> None:
    merged = [handle for handle in rows(samples.V4) if handle.managed_directories]
    assert [handle.managed_directories for handle in merged] == [
        ("s3://b/taskowned", "s3://b/shared"),
        ("s3://b/t", "s3://b/s"),
    ]
    assert (
        merged[1].stream
        and merged[1].stream.path is None
        and merged[1].state_class.startswith("Empty")
    )


@pytest.mark.parametrize("sample", ["3 (1.14)", "3 (1.15)", "4"])
def test_changelogs_have_a_materialised_part_and_increments(sample: str) -> None:
    found = [handle for handle in rows(samples.ALL[sample]) if "changelog" in handle.kind]
    assert (
        found[0].kind.startswith("changelog-materialized-") and found[-1].kind == "changelog-handle"
    )
    increments = [handle for handle in found if handle.kind == "changelog-stream"]
    assert increments[0].stream and increments[0].stream.path == samples.CHANGES
    assert sum(handle.state_bytes for handle in increments) == 44


def test_a_changelog_of_1_14_knows_no_ids_and_later_ones_do() -> None:
    assert [
        handle.keyed and handle.keyed.handle_id
        for handle in rows(samples.V3_1_14)
        if handle.kind == "changelog-handle"
    ] == [None]
    last = next(handle.keyed for handle in rows(samples.V4) if handle.kind == "changelog-handle")
    assert last and (last.handle_id, last.checkpointed_bytes) == ("log-id", 50)


def test_changes_kept_inline_are_counted() -> None:
    handle = one(samples.V3_1_15, "changelog-other")
    assert handle.keyed and (handle.state_bytes, handle.keyed.handle_id) == (3, "delta-id")
    assert lines(samples.V3_1_15)[1 + rows(samples.V3_1_15).index(handle)]["handle_class"] is None


@pytest.mark.parametrize("sample", ["3 (1.11)", "3 (1.12)", "6"])
def test_channel_state_with_and_without_its_subtask(sample: str) -> None:
    handle = [handle for handle in rows(samples.ALL[sample]) if handle.kind == "channel-input"][-1]
    assert handle.stream and handle.stream.bytes == 900 and handle.state_bytes == 60


def test_merged_channel_states_are_told_from_others() -> None:
    merged = [handle for handle in rows(samples.V6) if handle.state_class.startswith("Merged")]
    assert kinds(merged) == ["channel-input", "channel-output"]


def test_finished_subtasks_and_operators_are_told() -> None:
    found = pieces(samples.V3_1_15)
    assert [(piece.subtask, piece.finished) for piece in found if isinstance(piece, Subtask)] == [
        (0, False),
        (1, True),
    ]
    assert [piece.fully_finished for piece in found if isinstance(piece, Operator)] == [False, True]
    header = lines(samples.V3_1_15)[0]["operators"]
    assert (
        header[0]["finished_subtasks"] == [1] and header[1]["class"] == "FullyFinishedOperatorState"
    )


def test_names_and_uids_of_operators_in_modified_utf_8() -> None:
    named, unnamed = (piece for piece in pieces(samples.V5) if isinstance(piece, Operator))
    assert (named.name, named.uid) == ("Käse \U0001f9c0\0", "uid-1")
    assert (unnamed.name, unnamed.uid) == (None, None)


def test_coordinators_have_no_subtask() -> None:
    handle = one(samples.V3_1_11, "coordinator")
    assert handle.subtask is None and handle.stream and handle.stream.name == "coordinator"


def test_properties_say_what_it_is() -> None:
    properties = summary(samples.V4).properties
    assert properties and (properties.name, properties.savepoint_format) == ("Checkpoint", None)


def test_unknown_handles_are_refused_by_position() -> None:
    subtask = w.subtask(4, 0, keyed=b"\x63")
    written = w.metadata(4, [w.operator(4, [subtask])])
    with pytest.raises(UnsupportedMetadata, match="the tag 99") as refused:
        pieces(written)
    assert written[refused.value.position] == 0x63
