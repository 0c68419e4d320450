"""What shippers send, each in its own form, is the lines that the process wrote."""

import gzip
import io
import json
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.json_bounds import decoded
from ingest.pushed import json_records, loki, otlp, otlp_traces
from ingest.pushed.bodies import LARGEST_BODY_BYTES, UnknownEncoding, unpacked
from ingest.pushed.bounds import MAX_ORIGINS, TooLarge
from ingest.pushed.entries import MAX_PROCESS_CHARACTERS, Entry
from ingest.records import Skip

LINE = (
    "2026-11-23 01:02:03,004 INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] "
    "- Triggering checkpoint 7"
)


def lines(found):
    return [(entry.process, entry.text) for entry in found if isinstance(entry, Entry)]


def test_a_record_of_fluent_bit_with_its_kubernetes_filter_is_a_line_of_its_pod():
    record = {
        "date": 1790000000.123456,
        "stream": "stdout",
        "log": LINE + "\n",
        "kubernetes": {"pod_name": "jm-0", "container_name": "flink"},
    }
    assert lines(json_records.entries(json.dumps([record]).encode())) == [("jm-0", LINE)]


def test_an_event_of_vector_is_a_line_of_its_pod_or_file():
    pod = {
        "message": LINE,
        "timestamp": "2026-11-23T01:02:03.004Z",
        "kubernetes.pod_name": "tm-1",
        "source_type": "kubernetes_logs",
    }
    file = {
        "message": LINE,
        "timestamp": "2026-11-23T01:02:03.004Z",
        "file": "/opt/flink/log/flink-a-jobmanager.log",
        "host": "node1",
    }
    body = "\n".join(json.dumps(event) for event in (pod, file)).encode()
    assert lines(json_records.entries(body)) == [("tm-1", LINE), ("node1-flink-a-jobmanager", LINE)]


def test_a_rotated_file_is_the_process_that_it_was():
    records = [
        {"log": LINE, "file": f"/log/flink-tm.log{suffix}"} for suffix in ("", ".1", ".2.gz")
    ]
    assert {
        process for process, _ in lines(json_records.entries(json.dumps(records).encode()))
    } == {"flink-tm"}


def test_a_record_of_a_json_layout_stays_one():
    record = {
        "@timestamp": "2026-11-23T01:02:03.004Z",
        "log.level": "INFO",
        "log.logger": "a.B",
        "message": "said",
        "pod": "jm-0",
    }
    ((process, text),) = lines(json_records.entries(json.dumps(record).encode()))
    assert (process, json.loads(text)) == ("jm-0", record)


@pytest.mark.parametrize(
    "damage",
    [
        b'{"log": "x',
        b"\xff\xfe",
        b"[" * 100_000,
        b'"text"',
        b"{}",
        b'{"log": 7}',
        b'{"other": "x"}',
    ],
)
def test_damage_is_said_and_nothing_beside_it_is_lost(damage):
    good = json.dumps({"log": LINE, "pod": "p"}).encode()
    found = list(json_records.entries(b"\n".join([good, damage, good])))
    assert len(lines(found)) == 2
    assert (
        any(isinstance(one, Skip) for one in found) or damage == b"[" * 100_000
    )  # brackets alone hold nothing


def test_a_cut_list_gives_what_came_before_the_cut():
    body = json.dumps([{"log": f"{LINE} {n}", "pod": "p"} for n in range(9)]).encode()
    assert len(lines(json_records.entries(body[:-20]))) == 8


def test_numbers_that_are_longer_than_any_that_is_measured_are_the_texts_that_they_are():
    digits = "7" * 5_000
    laid_out = f'{{"logger":"a.B",\n "message":"said","n":{digits},"x":1.{digits},"pod":"p"}}'
    body = f'{{"log":"{LINE}","ts":{digits},"pod":"p"}}\n{laid_out}'.encode()
    first, second = json_records.entries(body)
    assert lines([first, second]) == [("p", LINE), ("p", laid_out.replace("\n", " "))]
    otlp_log = {
        "timeUnixNano": "@",
        "body": {"stringValue": LINE},
        "attributes": [{"key": "pod", "value": {"stringValue": "p"}}],
    }
    otlp_body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [otlp_log]}]}]}).replace(
        '"@"', digits
    )
    assert lines(otlp.from_json(otlp_body.encode())) == [("p", LINE)]


def test_fractions_are_what_they_were_wherever_they_stand():
    record = {"logger": "a.B", "message": "said", "ts": 1790000000.5, "n": [1.5, -2e-7], "pod": "p"}
    assert [
        (name, json.loads(text))
        for name, text in lines(json_records.entries(json.dumps(record).encode()))
    ] == [("p", record)]
    (skipped,) = json_records.entries(b'{"log":1.5}')
    assert isinstance(skipped, Skip)
    fields = [
        ("logger", {"stringValue": "a.B"}),
        ("message", {"stringValue": "said"}),
        ("ts", {"doubleValue": 1790000000.5}),
    ]
    body = {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in fields]}}
    sent = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": body}]}]}]}
    ((_, text),) = lines(otlp.from_json(json.dumps(sent).encode()))
    assert json.loads(text)["ts"] == 1790000000.5
    values = {"streams": [{"stream": {"pod": "p"}, "values": [[1.5, "x"]]}]}
    (skipped,) = loki.entries(json.dumps(values).encode())
    assert isinstance(skipped, Skip) and "1.5" in skipped.subject


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_number_is_not_converted_in_any_encoding_of_json(encoding):
    document, _ = decoded(f"[{'7' * 5_000},{'7' * 40},1.5]".encode(encoding))
    assert document == ["7" * 5_000, int("7" * 40), 1.5]


def test_lines_from_more_places_than_a_body_may_name_are_refused():
    records = (b'{"log":"x","file":"/%d/jm.log"}' % number for number in range(MAX_ORIGINS + 1))
    with pytest.raises(TooLarge):
        list(json_records.entries(b"\n".join(records)))


def test_a_pod_is_known_by_the_longest_path_that_kubernetes_gives_its_log():
    pod = "p" * 253
    path = f"/var/log/pods/{'n' * 63}_{pod}_{'0' * 36}/{'c' * 63}/0.log.20261121-010203.gz"
    kept = lines(json_records.entries(json.dumps({"log": LINE, "file": path}).encode()))
    assert kept == [(f"{pod}_{'c' * 63}"[-MAX_PROCESS_CHARACTERS:], LINE)]


@given(st.binary(max_size=300))
def test_no_body_raises_anything_but_a_refusal(body):
    for read in (
        json_records.entries,
        loki.entries,
        otlp.from_json,
        otlp.from_protobuf,
        otlp_traces.from_json,
        otlp_traces.from_protobuf,
    ):
        with suppress(Refused):
            list(read(body))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_json_raises_anything_but_a_refusal(document):
    record = {"body": document, "attributes": document}
    scope = {"name": "org.apache.flink.runtime.checkpoint.CheckpointStatsTracker"}
    span = {"name": "Checkpoint", "startTimeUnixNano": document, "attributes": document}
    shapes = [
        document,
        {"streams": document},
        {"streams": [{"stream": {"a": "b"}, "values": document}]},
        {"resourceLogs": [{"scopeLogs": [{"logRecords": document}]}]},
        {
            "resourceLogs": [
                {"resource": document, "scopeLogs": [{"scope": document, "logRecords": [record]}]}
            ]
        },
        {"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": document}]}]},
        {"resourceSpans": [{"scopeSpans": [{"scope": scope, "spans": [span]}]}]},
    ]
    for shape in shapes:
        for read in (json_records.entries, loki.entries, otlp.from_json, otlp_traces.from_json):
            with suppress(Refused):
                list(read(json.dumps(shape).encode()))


def test_loki_streams_are_lines_of_their_labels():
    body = {
        "streams": [
            {
                "stream": {"namespace": "n", "pod": "tm-2"},
                "values": [
                    ["1790000000000000000", LINE],
                    ["1790000000000000001", LINE, {"x": "y"}],
                ],
            }
        ]
    }
    assert lines(loki.entries(json.dumps(body).encode())) == [("tm-2", LINE)] * 2


def test_a_value_of_loki_that_is_none_is_said():
    body = {"streams": [{"stream": {"pod": "p"}, "values": [["1", LINE], [2], "x", ["3", LINE]]}]}
    found = list(loki.entries(json.dumps(body).encode()))
    assert len(lines(found)) == 2
    assert sum(isinstance(one, Skip) for one in found) == 2


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.ZstdCompressor().compress, bytes])
def test_bodies_are_unpacked(packed):
    name = {gzip.compress: "gzip", bytes: ""}.get(packed, "zstd")
    assert unpacked(io.BytesIO(packed(b"abc" * 1000)), name) == b"abc" * 1000


@pytest.mark.parametrize(
    ("name", "packed"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)]
)
def test_a_body_that_unpacks_to_too_much_is_refused_before_it_is_held(name, packed):
    with pytest.raises(TooLarge):
        unpacked(io.BytesIO(packed(bytes(4 * LARGEST_BODY_BYTES))), name)


def test_a_packed_body_is_as_large_as_a_plain_one_may_be_even_where_nothing_comes_of_it():
    skipped = b"\x50\x2a\x4d\x18" + (1024 * 1024).to_bytes(4, "little") + bytes(1024 * 1024)
    assert unpacked(io.BytesIO(skipped * 15), "zstd") == b""
    with pytest.raises(TooLarge):
        unpacked(io.BytesIO(skipped * 16), "zstd")


@pytest.mark.parametrize(
    ("name", "body"),
    # The packed body carries the second it was made in: as part of a name it would differ between
    # two workers.
    [
        pytest.param("gzip", gzip.compress(bytes(10_000))[:-9], id="cut"),
        ("gzip", b"none"),
        ("zstd", b"none of it"),
    ],
)
def test_a_damaged_body_is_refused(name, body):
    with pytest.raises(Refused, match=f"no whole {name}"):
        unpacked(io.BytesIO(body), name)


def test_an_unknown_packing_is_refused_by_name():
    with pytest.raises(UnknownEncoding, match="br"):
        unpacked(io.BytesIO(b""), "br")
