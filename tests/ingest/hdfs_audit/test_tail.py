"""Audit logs that grow, rotate and are read again: every call counts once, in its second."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.hdfs_audit import tail
from ingest.hdfs_audit.tail import read_new
from tests.audit_lines import NAMES, audit_text
from tests.played_calls import calls

PLAYED = "1.20.5/counted-small"


def counted(records):
    """By second and call, each identity once."""
    newest = {}
    for one in records:
        key = (one.log, one.offset, one.ts, one.cmd, one.user, one.address, one.job_id)
        newest[key] = max(newest.get(key, 0), one.calls)
    found = Counter()
    for (_log, _offset, ts, cmd, _user, _address, job_id), number in newest.items():
        found[int(ts.timestamp()), cmd, job_id] += number
    return found


def made():
    return Counter(
        (call.at_ms // 1000, NAMES[call.kind], call.path.split("/")[6])
        for call in calls(PLAYED)
        if call.kind in NAMES
    )


def test_every_call_that_flink_made_counts_in_its_second_and_for_its_job(tmp_path):
    (tmp_path / "hdfs-audit.log").write_bytes(audit_text(calls(PLAYED), zone="Asia/Shanghai"))
    read = read_new([str(tmp_path / "hdfs-audit.log*")], "Asia/Shanghai", None)
    assert counted(read.records) == made()
    assert not read.skips and not any(one.refused for one in read.records)
    again = read_new([str(tmp_path / "hdfs-audit.log*")], "Asia/Shanghai", read.cursor)
    assert again.records == ()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_pieces_rotations_and_cycles_that_are_repeated_change_no_count(tmp_path_factory, seed):
    folder, chance = tmp_path_factory.mktemp("audit"), random.Random(seed)
    text, file = audit_text(calls(PLAYED)), folder / "hdfs-audit.log"
    cursor, records, globs = None, [], [f"{folder}/hdfs-audit.log*"]
    while text:
        size = chance.randrange(20_000, 120_000)
        size = (text.find(b"\n", size) + 1 or len(text)) if chance.random() < 0.5 else size
        with file.open("ab") as log:
            log.write(text[:size])
        ended_line, text = text[:size].endswith(b"\n"), text[size:]
        if chance.random() < 0.3:  # the cursor of this cycle is lost
            records += read_new(globs, "UTC", cursor).records
            continue
        read = read_new(globs, "UTC", cursor)
        cursor, records = read.cursor, records + list(read.records)
        if ended_line and chance.random() < 0.5:
            file.rename(folder / f"hdfs-audit.log.{seed}-{len(text)}")
    assert counted([*records, *read_new(globs, "UTC", cursor).records]) == made()


def test_of_a_file_that_grew_too_much_the_newest_part_is_read_and_what_was_left_out_is_reported(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tail, "BEGIN_BYTES", 20_000)
    monkeypatch.setattr(tail, "MOST_BEHIND_BYTES", 50_000)
    file, text = tmp_path / "hdfs-audit.log", audit_text(calls(PLAYED))
    file.write_bytes(text[:5_000])
    first = read_new([str(file)], "UTC", None)
    file.write_bytes(text)
    read = read_new([str(file)], "UTC", first.cursor)
    assert [skip.reason for skip in read.skips] == ["over_budget"]
    newest = text[(len(text) // 20_000 - 1) * 20_000 :].count(b"\n")
    assert sum(one.calls for one in read.records) in (newest, newest - 1)


def test_what_is_no_audit_log_is_reported_once(tmp_path):
    file = tmp_path / "namenode.log"
    file.write_bytes(b"2019-02-18 18:14:35,396 INFO namenode.FSNamesystem: Roll Edit Log\n" * 2_000)
    read = read_new([str(file)], "UTC", None)
    assert [skip.reason for skip in read.skips] == ["no_header"]
    with file.open("ab") as log:
        log.write(b"more\n")
    assert read_new([str(file)], "UTC", read.cursor).skips == ()
