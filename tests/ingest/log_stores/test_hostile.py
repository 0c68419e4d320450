"""Stores that answer as none should: what is wrong is said, nothing beside it is lost, and no cycle
asks for ever.
"""

import json

import pytest

from ingest.log_stores import collector
from ingest.log_stores import collector as opening
from ingest.log_stores.loki import Loki
from tests.ingest.flink_rest.serving import Reply, told
from tests.ingest.log_stores.stores import LokiAnswers, SearchAnswers
from tests.ingest.log_stores.test_pulled import AT, AT_NS, line, pull, source, texts

LINES = [line(number, AT_NS - (60 - number) * 10**9) for number in range(1, 50)]


def replying(reply):
    return lambda path, headers: reply


def streams(*values, labels=None):
    result = [{"stream": labels or {"pod": "tm-1"}, "values": list(values)}]
    return {"status": "success", "data": {"resultType": "streams", "result": result}}


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        ("loki", Reply(b"<html>sign in</html>"), "HTML"),
        ("loki", Reply(b'{"status": "success", "data": {"resultT'), "an incomplete JSON document"),
        ("loki", Reply(b"[" * 100_000), "JSON"),
        (
            "loki",
            told({"status": "success", "data": {"resultType": "matrix", "result": []}}),
            "selector",
        ),
        ("loki", told({"version": "1"}), "check the address"),
        ("loki", told({"message": "secret-of-a-server"}, 401), "Check sign-in and tenant"),
        ("loki", Reply(b"parse error", 400), "Check its selector"),
        ("loki", Reply(b"no", 500), "HTTP 500"),
        (
            "elasticsearch",
            told({"hits": {"hits": []}, "timed_out": True, "_shards": {"failed": 0}}),
            "all shards",
        ),
        (
            "opensearch",
            told({"hits": {"hits": []}, "timed_out": False, "_shards": {"failed": 2}}),
            "OpenSearch did not answer for all",
        ),
        ("elasticsearch", told({"error": {}}, 404), "Check the index"),
        ("elasticsearch", told({"acknowledged": True}), "_search API; check the address"),
        ("elasticsearch", Reply(b"<html>sign in</html>"), "HTML"),
        (
            "elasticsearch",
            Reply(b'{"timed_out": false, "hits": {"hits": [{"_id"'),
            "an incomplete JSON document",
        ),
        ("elasticsearch", Reply(b"[" * 100_000), "JSON"),
    ],
)
def test_an_answer_that_is_none_is_an_error_with_what_to_do_and_moves_nothing(
    tmp_path, kind, reply, said
):
    (read,) = pull(replying(reply), source(tmp_path, kind, backfill_s=60), at=AT)
    assert said in read.error
    assert "secret-of-a-server" not in read.error and "query=" not in read.error
    assert read.read_to == read.read_from
    assert read.skips[-1].detail == read.error


def test_a_store_that_is_away_keeps_its_place_and_goes_on_when_it_is_back(tmp_path):
    store = source(tmp_path, backfill_s=60)
    (gone,) = pull(replying(Reply(b"{}", 400)), store, at=AT)
    (back,) = pull(LokiAnswers(LINES), store, gone.cursor, at=AT)
    assert (back.lines, back.error) == (49, None)


def test_a_cut_answer_is_asked_again_and_never_taken_as_the_end(tmp_path):
    whole = LokiAnswers(LINES)

    def cut_once(path, headers):
        reply = whole(path, headers)
        return (
            Reply(reply.body[:200], length=len(reply.body), close=True)
            if len(whole.asked) == 1
            else reply
        )

    store = source(tmp_path, backfill_s=70)
    pull(cut_once, store, at=AT, cycles=2)
    assert len(texts(store)) == 49


def test_bytes_that_are_no_utf_8_lose_nothing_but_themselves(tmp_path):
    at = str(AT_NS - 10**9).encode()
    body = (
        b'{"status":"success","data":{"resultType":"streams","result":[{"stream":{"pod":"tm"},"values":[["%s","a '
        b'\xff\xfe b"]]}]}}'
    ) % at
    store = source(tmp_path, backfill_s=60)
    (read,) = pull(replying(Reply(body)), store, at=AT)
    assert (read.lines, read.error) == (1, None)
    assert texts(store) == ["a \ufffd\ufffd b"]


@pytest.mark.parametrize("poison", ["huge", "deep"])
def test_a_line_that_cannot_be_read_costs_a_millisecond_and_no_line_beyond(
    tmp_path, monkeypatch, poison
):
    monkeypatch.setattr(opening, "MAX_ANSWER_BYTES", 20_000)
    at = AT_NS - 30 * 10**9 + 500
    answers = LokiAnswers([*LINES, ({"pod": "tm-1"}, at, "POISON")])

    def poisoned(path, headers):
        reply = answers(path, headers)
        if poison == "huge":
            return Reply(reply.body.replace(b"POISON", b"x" * 30_000))
        return Reply(reply.body.replace(b'"POISON"', b"[" * 9_000 + b"]" * 9_000))

    store = source(tmp_path, backfill_s=70)
    reads = pull(poisoned, store, at=AT, cycles=2)
    assert [read.error for read in reads] == [None, None]
    assert len(texts(store)) == 49
    (said,) = [
        skip
        for skip in reads[0].skips
        if skip.reason == ("too_large" if poison == "huge" else "bad_json")
    ]
    assert "it is skipped" in said.detail
    assert reads[-1].read_to == AT


def test_values_and_hits_of_odd_form_are_skipped_and_those_beside_them_kept(tmp_path):
    good = [str(AT_NS - 10**9), line(1, 0)[2]]
    odd = [
        [],
        ["x", "y"],
        [str(AT_NS)],
        [5, "z"],
        None,
        ["-1", "a"],
        ["9" * 19, "far"],
        [str(AT_NS - 10**9), "  "],
    ]
    store = source(tmp_path, backfill_s=60)
    (read,) = pull(replying(told(streams(good, *odd))), store, at=AT)
    assert (read.lines, read.error, len(read.skips)) == (1, None, len(odd))
    hits = [
        {"_id": "a", "sort": [AT_NS // 10**6 - 5], "_source": {"message": "kept"}},
        {},
        {"_id": 3, "sort": [1]},
        {"_id": "n", "sort": [2**63 - 1]},
        {"_id": "b", "sort": [True]},
        "x",
    ]
    body = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits}}
    store = source(tmp_path / "es", "elasticsearch", backfill_s=60)
    (read,) = pull(replying(told(body)), store, at=AT)
    assert (read.lines, len(read.skips)) == (1, 5)


def test_a_store_that_repeats_one_answer_for_ever_ends_no_cycle_late_and_is_said(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Loki, "usual_lines", 5)
    asked = []
    body = told(streams(*([str(at), text] for _, at, text in LINES[:5])))

    def same(path, headers):
        asked.append(path)
        return body

    store = source(tmp_path, backfill_s=3600)
    (read,) = pull(same, store, at=AT)
    assert {skip.reason for skip in read.skips} == {"bad_payload"}
    assert len(asked) <= collector.MAX_REQUESTS
    assert read.lines <= 5


def test_lines_of_the_future_and_of_long_ago_are_not_taken_for_lines_of_now(tmp_path):
    stamps = [AT_NS - 10**9, AT_NS + 10**15, 1]
    answers = replying(told(streams(*([str(at), f"line {at}"] for at in stamps))))
    store = source(tmp_path, backfill_s=60)
    (read,) = pull(answers, store, at=AT)
    assert texts(store) == [f"line {AT_NS - 10**9}"]
    assert [skip.reason for skip in read.skips] == ["bad_payload"] * 2


def test_a_clock_that_goes_back_reads_what_comes_then(tmp_path):
    store, answers = source(tmp_path, backfill_s=60), LokiAnswers(LINES)
    (ahead,) = pull(answers, store, at=AT.replace(hour=15))
    answers.lines.append(line("new", AT_NS + 5 * 10**9))
    (read,) = pull(answers, store, ahead.cursor, at=AT.replace(second=9))
    assert read.lines > 0
    assert any("line new" in text for text in texts(store))


def test_one_cycle_takes_no_more_than_its_bytes_and_the_next_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(Loki, "usual_lines", 10)
    store, answers = source(tmp_path, backfill_s=70), LokiAnswers(LINES)
    first, second = pull(answers, store, at=AT, cycles=2, max_bytes=500)
    assert 0 < first.lines < 20
    assert first.read_to < second.read_to
    assert len(texts(store)) == first.lines + second.lines


@pytest.mark.parametrize(
    "cursor",
    [
        {"of": 1},
        {"of": "x", "from_ns": "y"},
        {"recent": 7},
        {"from_ns": -5, "to_ns": 2**80, "of": "z"},
    ],
)
def test_a_cursor_that_makes_no_sense_begins_afresh(tmp_path, cursor):
    store = source(tmp_path, backfill_s=70)
    (read,) = pull(LokiAnswers(LINES), store, cursor, at=AT)
    assert read.lines == 49


def test_no_address_secret_or_query_of_a_store_is_in_what_is_said(tmp_path):
    document = {
        "hits": {"hits": [{"_id": "a", "sort": [AT_NS // 10**6 - 5], "_source": {}}]},
        "timed_out": False,
        "_shards": {"failed": 0},
    }
    (read,) = pull(replying(told(document)), source(tmp_path, "opensearch", backfill_s=60), at=AT)
    assert [skip.reason for skip in read.skips] == ["no_text"]
    assert json.dumps([skip.detail for skip in read.skips]).count("source=") == 0


def test_an_index_without_documents_is_read_to_now(tmp_path):
    (read,) = pull(SearchAnswers([]), source(tmp_path, "elasticsearch", backfill_s=60), at=AT)
    assert (read.read_to, read.lines, read.error) == (AT, 0, None)
