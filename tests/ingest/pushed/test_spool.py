"""Pushed lines wait in files that the collector reads; a repetition changes nothing, whatever was
killed where.
"""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.flink_logs import tail
from ingest.pushed import spool as module
from ingest.pushed.entries import Entry, entry_of
from ingest.pushed.spool import Behind, Spool
from ingest.sources import LogSource

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


def line(number, process="tm-1"):
    text = (
        f"2026-11-23 01:02:{number // 1000 % 60:02d},{number % 1000:03d} WARN  a.B [] - line "
        f"{number}"
    )
    return Entry(process, text, str(number))


def text_of(spool, process="tm-1"):
    return (spool.folder / f"{process}.log").read_text().splitlines()


def collected(spool, cursor=None):
    """Messages that the collector reads, and its next cursor."""
    result = tail.read_new(LogSource((spool.glob,)), "c", cursor, AT, final=True)
    return [record.message for part in result.observed for record in part.records], result.cursor


def test_lines_are_kept_in_order_one_file_a_process(tmp_path):
    spool = Spool(tmp_path / "c")
    taken = spool.take([line(1), line(2, "jm"), line(3)])
    assert (taken.lines, taken.repeated) == (3, 0)
    assert text_of(spool) == [line(1).text, line(3).text]
    assert text_of(spool, "jm") == [line(2).text]


def test_the_same_batch_again_changes_nothing(tmp_path):
    spool = Spool(tmp_path / "c")
    batch = [line(1), line(1), line(2)]
    spool.take(batch)
    assert spool.take(batch).repeated == 3
    assert len(text_of(spool)) == 3


def test_a_batch_without_stamps_is_known_as_a_whole(tmp_path):
    spool = Spool(tmp_path / "c")
    frames = [Entry("tm-1", text) for text in ("java.lang.Error", "\tat a.B", "\tat a.B")]
    others = [Entry("tm-1", text) for text in ("java.lang.Oops", "\tat a.B")]
    for batch in (frames, frames, others):
        spool.take(batch)
    assert text_of(spool) == [
        "java.lang.Error",
        "\tat a.B",
        "\tat a.B",
        "java.lang.Oops",
        "\tat a.B",
    ]


@settings(deadline=None, max_examples=60)
@given(
    batches=st.lists(
        st.tuples(
            st.integers(0, 30), st.integers(1, 12), st.sampled_from(["ok", "lost answer", "killed"])
        ),
        max_size=12,
    )
)
def test_every_line_is_there_once_however_batches_are_repeated(tmp_path_factory, batches):
    spool = Spool(tmp_path_factory.mktemp("c"))
    wanted = {}
    for first, count, fate in batches:
        batch = [line(number) for number in range(first, first + count)]
        if fate == "killed":  # after the lines, before the digests
            before = Spool._remember
            try:
                Spool._remember = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
                with pytest.raises(KeyboardInterrupt):
                    spool.take(batch)
            finally:
                Spool._remember = before
        for _ in range(2 if fate == "lost answer" else 1):
            spool.take(batch)
        wanted |= dict.fromkeys(entry.text for entry in batch)
    assert (text_of(spool) if wanted else []) == list(wanted)


def test_a_killed_push_leaves_no_record_twice_in_the_lake(tmp_path, monkeypatch):
    spool = Spool(tmp_path / "c")
    spool.take([line(1)])
    with monkeypatch.context() as patched:
        patched.setattr(Spool, "_remember", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            spool.take([line(2), line(3)])
    first, cursor = collected(spool)
    spool.take([line(2), line(3), line(4)])
    later, _ = collected(spool, cursor)
    assert sorted({*first, *later}) == ["line 1", "line 2", "line 3", "line 4"]


def test_a_large_file_is_rotated_and_removed_once_it_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROTATED_AT_BYTES", 1000)
    spool = Spool(tmp_path / "c")
    for number in range(60):
        spool.take([line(number)])
    assert len(list(spool.folder.glob("tm-1.log.*"))) >= 2
    cursor, messages = None, []
    for _ in range(3):
        found, cursor = collected(spool, cursor)
        messages += found
    assert messages == [f"line {number}" for number in range(60)]
    spool.make_room(cursor, time.time())
    assert [path.name for path in spool.folder.glob("tm-1.log*")] == ["tm-1.log"]


def test_what_was_not_read_is_never_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROTATED_AT_BYTES", 100)
    spool = Spool(tmp_path / "c")
    spool.take([line(1), line(2)])
    spool.make_room(None, time.time() + 10 * module.IDLE_S)
    assert collected(spool)[0] == ["line 1", "line 2"]


def test_a_file_that_was_read_and_stood_still_for_a_day_is_removed(tmp_path):
    spool = Spool(tmp_path / "c")
    spool.take([line(1)])
    _, cursor = collected(spool)
    spool.make_room(cursor, time.time())
    assert len(text_of(spool)) == 1
    spool.make_room(cursor, time.time() + module.IDLE_S + 60)
    assert list(spool.folder.glob("*.log*")) == []
    assert list((spool.folder / "keys").iterdir()) == []


def test_a_collector_that_is_behind_stops_pushes_until_it_has_read(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_UNREAD_BYTES", 200)
    spool = Spool(tmp_path / "c")
    spool.take([line(number) for number in range(9)])
    with pytest.raises(Behind):
        spool.make_room(None, time.time())
    _, cursor = collected(spool)
    spool.make_room(cursor, time.time())


def test_processes_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_PROCESSES", 3)
    spool = Spool(tmp_path / "c")
    with pytest.raises(Behind, match="name"):
        spool.take([line(1, f"p{number}") for number in range(5)])
    assert len(list(spool.folder.glob("*.log"))) == 3


def test_names_of_processes_lead_nowhere_else(tmp_path):
    spool = Spool(tmp_path / "c")
    names = ["../../x", "/etc/passwd", "..", ".", "a\0b", "ü/é", "x" * 500, "keys", "lock"]
    spool.take([entry_of({"log": "text", "pod": name}) for name in names])
    assert {path.parent for path in tmp_path.rglob("*.log")} == {
        spool.folder,
        spool.folder / "keys",
    }
    assert list(tmp_path.iterdir()) == [spool.folder]
