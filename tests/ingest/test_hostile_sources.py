"""Hostile input, source by source: what it is skipped for is said, memory stays bounded, and
nothing beside it is lost.

The kinds that have tables of their own: log files in every envelope and layout
(``flink_logs/test_log_reader.py``), stores of logs (``log_stores/test_hostile.py``), Prometheus
(``prometheus/test_hostile.py`` and ``test_in_a_shard.py``), Kubernetes
(``discovery/test_kubernetes.py``), WebHDFS (``storage/test_webhdfs.py``). This one holds the others, and what those lack.
"""

import asyncio
import json
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ingest.discovery.reading import _read_all
from ingest.discovery.sources import DiscoverySource
from ingest.discovery.zookeeper import parse_address
from ingest.errors import Refused
from ingest.pushed import bounds, json_records, loki, otlp, otlp_metrics
from ingest.pushed.entries import MAX_LINE_CHARACTERS, Entry
from ingest.pushed.spool import Spool
from ingest.records import Skip
from tests.ingest.discovery.test_reading import by_http, names, of_files
from tests.ingest.discovery.test_yarn import APPLICATION
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.flink_logs.wrapped import COMPLETED, ENVELOPES, HEADER
from tests.ingest.flink_rest.serving import Reply, Server
from tests.ingest.log_stores.stores import SearchAnswers
from tests.ingest.log_stores.test_pulled import AT, AT_NS, pull, source, texts
from tests.selections import for_each

MARK, STAMP = "!MARK!", "1795233600000000001"
BEFORE, AFTER = "before", "after"


def _json_lines() -> bytes:
    return b"\n".join(
        json.dumps({"log": text, "time": STAMP}).encode() for text in (BEFORE, MARK, AFTER)
    )


def _loki() -> bytes:
    return json.dumps(
        {
            "streams": [
                {
                    "stream": {"pod": "tm-1"},
                    "values": [[STAMP, text] for text in (BEFORE, MARK, AFTER)],
                }
            ]
        }
    ).encode()


def _otlp(texts: Iterable[str] = (BEFORE, MARK, AFTER)) -> dict[str, Any]:
    logs = [{"timeUnixNano": STAMP, "body": {"stringValue": text}} for text in texts]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}


def _otlp_protobuf() -> bytes:
    return ParseDict(_otlp(), ExportLogsServiceRequest()).SerializeToString()


PUSHED: dict[str, tuple[Callable[[], bytes], Callable[[bytes], Iterable[Entry | Skip]]]] = {
    "JSON lines": (_json_lines, json_records.entries),
    "Loki": (_loki, loki.entries),
    "OTLP in JSON": (lambda: json.dumps(_otlp()).encode(), otlp.from_json),
    "OTLP in protobuf": (_otlp_protobuf, otlp.from_protobuf),
}


def kept(found: Iterable[Entry | Skip]) -> list[str]:
    return [entry.text for entry in found if isinstance(entry, Entry)]


@pytest.mark.parametrize("name", PUSHED)
def test_bytes_that_are_no_utf_8_lose_nothing_but_themselves(name: str) -> None:
    body, read = PUSHED[name]
    spoiled = body().replace(MARK.encode(), b"\xff\xfe\xc3a\x80z")
    before, between, after = kept(read(spoiled))
    assert (before, after) == (BEFORE, AFTER)
    assert between.endswith("z") and "\ufffd" in between


@pytest.mark.parametrize("name", PUSHED)
def test_a_huge_line_is_cut_and_those_beside_it_are_whole(name: str) -> None:
    body, read = PUSHED[name]
    whole = body()
    if name == "OTLP in protobuf":
        whole = ParseDict(
            _otlp((BEFORE, MARK * 1_000_000, AFTER)), ExportLogsServiceRequest()
        ).SerializeToString()
    else:
        whole = whole.replace(MARK.encode(), MARK.encode() * 1_000_000)
    tracemalloc.start()
    before, between, after = kept(read(whole))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (before, after, len(between)) == (BEFORE, AFTER, MAX_LINE_CHARACTERS)
    assert peak < 8 * len(whole)


@pytest.mark.parametrize("name", [name for name in PUSHED if name != "OTLP in protobuf"])
@pytest.mark.parametrize(
    "deep",
    [
        b"[" * 50_000 + b"]" * 50_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'["]}",' * 9_000 + b"1" + b"]" * 9_000,
    ],
)
def test_json_that_is_too_deep_costs_nothing_beside_it(name: str, deep: bytes) -> None:
    body, read = PUSHED[name]
    found = list(read(body().replace(f'"{MARK}"'.encode(), deep)))
    assert kept(found) == [BEFORE, AFTER]
    assert any(isinstance(one, Skip) for one in found)


def test_a_value_of_otlp_that_is_too_deep_costs_nothing_beside_it() -> None:
    message = ParseDict(_otlp(), ExportLogsServiceRequest())
    inner = b"\x0a\x04deep"
    for _ in range(300):
        values = b"\x0a" + _length(inner) + inner
        inner = b"\x2a" + _length(values) + values
    record = b"\x2a" + _length(inner) + inner
    scope = b"\x12" + _length(record) + record
    resource = b"\x12" + _length(scope) + scope
    found = list(
        otlp.from_protobuf(message.SerializeToString() + b"\x0a" + _length(resource) + resource)
    )
    assert kept(found) == [BEFORE, MARK, AFTER]
    assert [type(one) for one in found[3:]] == [Skip]


def test_a_message_of_more_fields_than_anybody_looks_at_is_refused() -> None:
    with pytest.raises(Refused):
        list(otlp.from_protobuf(b"\x10\x01" * (bounds.MAX_PARTS + 1)))


def _length(content: bytes) -> bytes:
    return (
        bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
        if len(content) > 0x7F
        else bytes([len(content)])
    )


@pytest.mark.parametrize("name", [name for name in PUSHED if name != "OTLP in protobuf"])
def test_json_that_opens_without_end_is_refused_or_skipped(name: str) -> None:
    body, read = PUSHED[name]
    for deep in (b"[" * 50_000, b'{"a":' * 50_000):
        try:
            found = list(read(body().replace(f'"{MARK}"'.encode(), deep)))
        except Refused as refused:
            assert name != "JSON lines" and "JSON" in str(refused)
        else:
            assert kept(found) == [BEFORE, AFTER]


@pytest.mark.parametrize("name", PUSHED)
def test_a_body_that_was_cut_is_refused_or_gives_what_came_before_the_cut(name: str) -> None:
    body, read = PUSHED[name]
    whole = body()
    for end in range(1, len(whole)):
        try:
            found = list(read(whole[:end]))
        except Refused:
            assert name != "JSON lines"
        else:
            assert kept(found) == [BEFORE, MARK, AFTER][: len(kept(found))]


@pytest.mark.parametrize("name", PUSHED)
def test_a_stamp_of_a_wrong_clock_costs_no_line(name: str) -> None:
    body, read = PUSHED[name]
    if name == "OTLP in protobuf":
        document = _otlp()
        document["resourceLogs"][0]["scopeLogs"][0]["logRecords"][1]["timeUnixNano"] = str(
            2**64 - 1
        )
        spoiled = ParseDict(document, ExportLogsServiceRequest()).SerializeToString()
    else:
        spoiled = body().replace(STAMP.encode(), b"9" * 40, 2).replace(b"9" * 40, STAMP.encode(), 1)
    assert kept(read(spoiled)) == [BEFORE, MARK, AFTER]


@pytest.mark.parametrize("name", PUSHED)
def test_the_same_body_again_changes_nothing(name: str, tmp_path: Path) -> None:
    body, read = PUSHED[name]
    spool = Spool(tmp_path / "spool")
    taken = [
        spool.take(entry for entry in read(body()) if isinstance(entry, Entry)) for _ in range(2)
    ]
    assert [(one.lines, one.repeated) for one in taken] == [(3, 0), (0, 3)]


def _metrics(job: str = "a" * 32) -> dict[str, Any]:
    point = {
        "timeUnixNano": STAMP,
        "asInt": "1",
        "attributes": [{"key": "job_id", "value": {"stringValue": job}}],
    }
    metric = {"name": "flink.jobmanager.job.numRestarts", "gauge": {"dataPoints": [point]}}
    return {"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}] * 2}


def test_metrics_with_labels_that_are_no_utf_8_are_read_in_both_forms() -> None:
    packed = ParseDict(_metrics(MARK), ExportMetricsServiceRequest()).SerializeToString()
    for body, read in (
        (json.dumps(_metrics(MARK)).encode(), otlp_metrics.from_json),
        (packed, otlp_metrics.from_protobuf),
    ):
        assert len(read(body.replace(MARK.encode(), b"\xff\xfe\xfd\xfc\xfb\xfa")).samples) == 2


@pytest.mark.parametrize("read", [otlp_metrics.from_json, otlp_metrics.from_protobuf])
@given(body=st.binary(max_size=200))
def test_no_body_of_metrics_raises_anything_but_a_refusal(
    read: Callable[[bytes], object], body: bytes
) -> None:
    try:
        read(body)
    except Refused:
        return


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_damaged_protobuf_is_refused_or_read(at: int, damage: bytes) -> None:
    body = _otlp_protobuf()
    place = at % len(body)
    try:
        list(otlp.from_protobuf(body[:place] + damage + body[place + len(damage) :]))
    except Refused:
        return


def test_metrics_that_are_cut_are_refused_and_what_is_deep_or_huge_costs_nothing_beside_it() -> (
    None
):
    body = json.dumps(_metrics()).encode()
    with pytest.raises(Refused):
        otlp_metrics.from_json(body[:-20])
    deep = body.replace(b'"asInt"', b'"x": ' + b"[" * 50_000 + b"]" * 50_000 + b', "asInt"', 1)
    assert len(otlp_metrics.from_json(deep).samples) == 2
    assert (
        len(
            otlp_metrics.from_protobuf(
                ParseDict(
                    _metrics("x" * 5_000_000), ExportMetricsServiceRequest()
                ).SerializeToString()
            ).samples
        )
        == 2
    )


PLAIN = f"{HEADER}{COMPLETED}"


@for_each(
    name=ENVELOPES,
    clock=[
        "0001-01-01 00:00:00,000",
        "1970-01-01 00:00:00,000",
        "9999-12-31 23:59:59,999",
        "2026-02-30 25:61:61,000",
    ],
)
def test_a_line_of_a_wrong_clock_loses_none_beside_it(name: str, clock: str) -> None:
    wrong = PLAIN.replace("2026-11-21 04:00:00,001", clock).replace("point 5", "point 6")
    log = ENVELOPES[name](
        "\n".join([PLAIN, wrong, PLAIN.replace("point 5", "point 7")]).encode() + b"\n"
    )
    found = [
        event.checkpoint_id
        for record in records_of(log, file="x.log")
        if (event := event_of(record)) is not None
    ]
    assert {5, 7} <= set(found)


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_log_that_is_read_again_gives_records_of_the_same_identity(name: str) -> None:
    log = ENVELOPES[name](f"{PLAIN}\n{PLAIN}\n".encode())
    first, again = (
        [
            (one.ts, one.process, one.record_hash, one.ordinal)
            for one in records_of(log, file="x.log")
        ]
        for _ in range(2)
    )
    assert first == again and len(set(first)) == 2


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"x" * 2_000_000, b"\\u0000\\ud800"])
def test_a_document_of_a_search_store_that_is_odd_costs_no_other(
    tmp_path: Path, damage: bytes
) -> None:
    hits = [
        (AT_NS // 10**6 - 1_000 * number, {"message": text})
        for number, text in enumerate((BEFORE, MARK, AFTER), 1)
    ]
    answers = SearchAnswers(hits)

    def spoiled(path: str, headers: Any) -> Reply:
        return Reply(answers(path, headers).body.replace(MARK.encode(), damage))

    store = source(tmp_path, "elasticsearch", backfill_s=70)
    reads = pull(spoiled, store, at=AT, cycles=2)
    assert [read.error for read in reads] == [None, None]
    assert {BEFORE, AFTER} <= set(texts(store))
    assert sum(read.lines for read in reads) == 3


GROUPS = json.dumps(
    [{"targets": ["orders:8081"], "labels": {"cluster": "orders", "note": MARK}}]
).encode()
RESOURCEMANAGER = json.dumps({"apps": {"app": [APPLICATION | {"queue": MARK}]}}).encode()
DAMAGES = {
    "cut": lambda whole: whole[: len(whole) // 2],
    "huge": lambda whole: whole.replace(MARK.encode(), b"x" * 9_000_000),
    "deep": lambda whole: whole.replace(f'"{MARK}"'.encode(), b"[" * 100_000 + b"]" * 100_000),
    "no UTF-8": lambda whole: whole.replace(MARK.encode(), b"\xff\xfe"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["http", "yarn"])
def test_an_answer_of_discovery_is_read_or_said_and_never_half_of_it(
    kind: str, damage: str
) -> None:
    reply = Reply(DAMAGES[damage](GROUPS if kind == "http" else RESOURCEMANAGER))
    found = _discovered(kind, reply)
    assert (len(found.clusters) == 1) != bool(found.error)
    assert damage == "no UTF-8" or found.error


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("ending", ["json", "yml"])
def test_a_damaged_file_of_targets_is_named_and_the_one_beside_it_is_read(
    ending: str, damage: str, tmp_path: Path
) -> None:
    (tmp_path / f"bad.{ending}").write_bytes(DAMAGES[damage](GROUPS))
    (tmp_path / "good.json").write_text(
        json.dumps([{"targets": ["carts:8081"], "labels": {"cluster": "carts"}}])
    )
    found = of_files(tmp_path, f"bad.{ending}", "good.json")
    assert "carts" in names(found)
    assert ("orders" in names(found)) != (f"bad.{ending}" in found.error)


@given(st.binary(max_size=80), st.integers(0, 80))
def test_what_a_node_of_zookeeper_holds_is_an_address_or_refused(junk: bytes, at: int) -> None:
    text = b"http://jm:8081"
    node = b"\xac\xed\x00\x05\x77" + bytes([len(text) + 2]) + len(text).to_bytes(2, "big") + text
    assert parse_address(node) == text.decode()
    for content in (
        junk,
        node[:at],
        node[:at] + junk + node[at:],
        node[:6] + b"\xff\xff" + b"x" * 70_000,
    ):
        try:
            assert parse_address(content).isascii()
        except ValueError as error:
            assert "leader election" in str(error)


def _discovered(kind: str, reply: Reply) -> Any:
    if kind == "http":
        return by_http(lambda path, headers: reply)[0]

    async def ask() -> Any:
        async with Server(lambda path, headers: reply) as server:
            return (await _read_all([DiscoverySource("s", yarn=server.url)]))[0]

    return asyncio.run(ask())
