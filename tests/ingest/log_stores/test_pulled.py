"""Stores of logs, asked as their published references describe: what was recorded in files comes
out of them as the same events.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest.flink_logs import tail
from ingest.flink_logs.files import read_file
from ingest.flink_rest.client import Gate
from ingest.log_stores.collector import LATE_S, client_of, digest, read_lines
from ingest.log_stores.elasticsearch import Elasticsearch
from ingest.log_stores.loki import Loki
from ingest.pushed.spool import Spool
from ingest.sources import Auth, LogSource, LogStoreSource, Tls
from tests.ingest.flink_logs.row_events import event_of
from tests.ingest.flink_rest.serving import Server, told
from tests.ingest.log_stores.stores import LOGS, LokiAnswers, SearchAnswers, recorded_lines

RECORDED = list(recorded_lines())
END = datetime.fromtimestamp(max(at for _, at, _ in RECORDED) // 10**9 + 2, UTC)
BEGIN = min(at for _, at, _ in RECORDED if at)
BACKFILL_S = END.timestamp() - BEGIN / 1e9 + 1
AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
AT_NS = int(AT.timestamp()) * 10**9


def source(tmp_path, kind="loki", **more):
    asked = {"query": '{namespace="flink"}'} if kind == "loki" else {"index": "logs-flink"}
    return LogStoreSource(
        kind, "", spool=str(tmp_path / "spool"), **{"backfill_s": BACKFILL_S, **asked, **more}
    )


def pull(answers, store, cursors=None, at=END, cycles=1, **limits):
    """Cycles one after the other, as the collector has them; the reads, and the last cursor."""

    async def run():
        reads, cursor = [], cursors or {}
        async with Server(answers) as server:
            for _ in range(cycles):
                asked = LogStoreSource(
                    **{name: getattr(store, name) for name in store.__slots__} | {"url": server.url}
                )
                async with client_of(asked, Tls(), Gate(same_path_pause_s=0)) as client:
                    found = await read_lines(
                        client, asked, rebased(cursor, asked), {}, lambda: at, **limits
                    )
                cursor = found.cursor
                reads.append(found)
        return reads

    return asyncio.run(run())


def rebased(cursor, store):
    """A server of a test has another port each time."""
    return {**cursor, "of": digest(store)} if cursor else {}


def records(store):
    result = tail.read_new(LogSource((spool_of(store).glob,)), "c", None, AT, final=True)
    return [record for part in result.observed for record in part.records]


def spool_of(store):
    return Spool(Path(store.spool))


def texts(store):
    return sorted(
        line
        for path in spool_of(store).folder.glob("*.log*")
        for line in path.read_text().splitlines()
    )


def events(found):
    known = [event for record in found if (event := event_of(record))]
    hidden = {"process", "file", "offset", "ordinal", "record_hash"}
    return sorted(
        repr([getattr(event, name) for name in event.__slots__ if name not in hidden])
        for event in known
    )


def of_files():
    return events(
        record for path in LOGS.iterdir() for found, _ in read_file(str(path)) for record in found
    )


def loki_lines():
    """Instants of lines are their own, a nanosecond apart within a process as a shipper sees them;
    processes share instants.
    """
    last = {}
    for process, at, text in RECORDED:
        at = max(at, last.get(process, BEGIN) + 1)
        last[process] = at
        yield {"namespace": "flink", "pod": process, "container": "flink-main-container"}, at, text


def beat_documents():
    """As Filebeat writes them, lines of Flink's own layout: ECS fields, nested, and where in its
    file each line was.
    """
    for number, (process, at, text) in enumerate(RECORDED):
        name = {
            "kubernetes": {"pod": {"name": process}},
            "log": {"offset": number, "file": {"path": "/x.log"}},
        }
        yield (at or BEGIN) // 10**6, {"@timestamp": "…", "message": text, **name}


def test_recorded_logs_pulled_from_loki_in_pages_and_cycles_are_the_events_of_the_files(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Loki, "usual_lines", 300)
    store, answers = source(tmp_path), LokiAnswers(loki_lines())
    reads = pull(answers, store, cycles=8, max_lines=700)
    assert [read.error for read in reads] == [None] * 8
    assert reads[0].read_to < END == reads[-1].read_to
    assert sum(read.lines for read in reads) == len(RECORDED)
    assert events(records(store)) == of_files()
    assert len(of_files()) > 50


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
def test_recorded_logs_pulled_from_documents_are_the_events_of_the_files(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(Elasticsearch, "usual_lines", 120)
    store, answers = source(tmp_path, kind), SearchAnswers(beat_documents())
    reads = pull(answers, store, cycles=2)
    assert [read.error for read in reads] == [None, None]
    assert sum(read.lines for read in reads) == len(RECORDED)
    assert events(records(store)) == of_files()


def line(number, at_ns, **labels):
    return {"pod": "tm-1", **labels}, at_ns, f"2026-11-23 12:00:00,000 WARN  a.B [] - line {number}"


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_pages_that_end_within_one_nanosecond_neither_lose_nor_repeat_lines(
    tmp_path, monkeypatch, limit
):
    monkeypatch.setattr(Loki, "usual_lines", limit)
    instants = [AT_NS - 9_000_000 + at for at in (0, 0, 0, 1, 1, 2, 5, 5, 5, 5, 5, 5, 5, 5, 9)]
    lines = [line(number, at) for number, at in enumerate(instants)]
    store = source(tmp_path, backfill_s=60)
    (read,) = pull(LokiAnswers(lines), store, at=AT)
    assert (read.error, read.lines, read.skips) == (None, len(lines), ())
    assert texts(store) == sorted(text for _, _, text in lines)


def test_more_documents_of_one_millisecond_than_are_answered_at_once_are_said_and_stop_nothing(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Elasticsearch, "usual_lines", 5)
    monkeypatch.setattr(Elasticsearch, "most_lines", 20)
    at = AT_NS // 10**6 - 5_000
    documents = [
        (at + (number > 29), {"message": line(number, 0)[2], "host": {"name": "tm-1"}})
        for number in range(40)
    ]
    store = source(tmp_path, "elasticsearch", backfill_s=60)
    (read,) = pull(SearchAnswers(documents), store, at=AT)
    assert read.lines == 30
    assert [skip.reason for skip in read.skips] == ["over_budget"]
    assert "20 lines have the same instant" in read.skips[0].detail


def test_a_line_that_comes_late_is_read_and_those_beside_it_are_not_read_twice(tmp_path):
    lines = [line(number, AT_NS - number * 10**9) for number in range(1, 30)]
    store, answers = source(tmp_path, backfill_s=3600), LokiAnswers(lines)
    first, again = pull(answers, store, at=AT, cycles=2)
    assert (first.lines, again.lines) == (29, 0)
    answers.lines += [
        line("late", AT_NS - 60 * 10**9),
        line("too late", AT_NS - 2 * LATE_S * 10**9),
    ]
    (third,) = pull(answers, store, first.cursor, at=AT + timedelta(seconds=5))
    assert third.lines == 1
    assert sum("late" in text for text in texts(store)) == 1


@pytest.mark.parametrize("kind", ["loki", "elasticsearch"])
def test_what_a_killed_cycle_read_is_read_again_and_folds(tmp_path, kind):
    store = source(tmp_path, kind)
    answers = LokiAnswers(loki_lines()) if kind == "loki" else SearchAnswers(beat_documents())
    pull(answers, store)
    (again,) = pull(answers, store)
    assert again.lines == 0
    assert events(records(store)) == of_files()


def test_history_is_read_from_the_declared_time_on_an_hour_at_a_time(tmp_path):
    lines = [line(hours, AT_NS - hours * 3600 * 10**9 - 1) for hours in (1, 5, 23, 25)]
    store, answers = source(tmp_path, backfill_s=24 * 3600), LokiAnswers(lines)
    (read,) = pull(answers, store, at=AT)
    assert read.lines == 3
    assert read.read_from == AT - timedelta(hours=24)
    assert len(answers.asked) == 24
    assert all(int(asked["end"]) - int(asked["start"]) == 3600 * 10**9 for asked in answers.asked)


def test_another_query_is_read_from_its_own_beginning(tmp_path):
    lines = [line(1, AT_NS - 10**10)]
    (read,) = pull(LokiAnswers(lines), source(tmp_path, backfill_s=60), at=AT)
    cursor = read.cursor | {"of": "another"}
    asked = LokiAnswers(lines)
    pull_raw(asked, source(tmp_path, backfill_s=60), cursor)
    assert int(asked.asked[0]["start"]) == AT_NS - 60 * 10**9


def pull_raw(answers, store, cursor, at=AT):
    async def run():
        async with Server(answers) as server:
            asked = LogStoreSource(
                **{name: getattr(store, name) for name in store.__slots__} | {"url": server.url}
            )
            async with client_of(asked, Tls(), Gate(same_path_pause_s=0)) as client:
                return await read_lines(client, asked, cursor, {}, lambda: at)

    return asyncio.run(run())


def test_the_tenant_and_each_way_to_sign_in_are_sent(tmp_path):
    signed = []
    for auth in (Auth("bearer", "t0k"), Auth("api_key", "a2V5"), Auth("basic", "pw", "me"), None):
        answers = LokiAnswers([])
        pull(answers, source(tmp_path, backfill_s=60, tenant="team-a", auth=auth), at=AT)
        assert set(answers.tenants) == {"team-a"}
        signed += set(answers.signed)
    assert signed == ["Bearer t0k", "ApiKey a2V5", "Basic bWU6cHc=", None]


@pytest.mark.parametrize(
    ("kind", "labels", "process"),
    [
        ("loki", {"pod": "flink-tm-0", "filename": "/var/log/pods/x.log"}, "flink-tm-0"),
        ("loki", {"k8s_pod_name": "otel-pod", "service_name": "flink"}, "otel-pod"),
        ("loki", {"filename": "/opt/flink/log/flink-jm.log", "host": "h1"}, "h1-flink-jm"),
        ("loki", {"container": "taskmanager", "job": "docker"}, "taskmanager"),
        ("elasticsearch", {"kubernetes": {"pod_name": "fluent-bit-pod"}}, "fluent-bit-pod"),
        ("elasticsearch", {"host": {"name": "vm-7"}, "agent": {"type": "filebeat"}}, "vm-7"),
        (
            "opensearch",
            {"container": {"name": "compose-tm-1"}, "host": {"name": "vm"}},
            "compose-tm-1",
        ),
    ],
)
def test_labels_and_fields_say_which_process_a_line_is_of(tmp_path, kind, labels, process):
    text = line(1, 0)[2]
    if kind == "loki":
        answers = LokiAnswers([(labels, AT_NS - 10**9, text)])
    else:
        answers = SearchAnswers([(AT_NS // 10**6 - 1000, {"message": text, **labels})])
    store = source(tmp_path, kind, backfill_s=60)
    pull(answers, store, at=AT)
    assert [path.name for path in spool_of(store).folder.glob("*.log")] == [f"{process}.log"]


def test_structured_metadata_beside_a_line_names_its_process(tmp_path):
    value = [str(AT_NS - 10**9), line(1, 0)[2], {"structuredMetadata": {"pod": "tm-9"}}]
    stream = {"stream": {"namespace": "flink"}, "values": [value]}
    body = {"status": "success", "data": {"resultType": "streams", "result": [stream]}}
    store = source(tmp_path, backfill_s=60)
    pull(lambda path, headers: told(body), store, at=AT)
    assert (spool_of(store).folder / "tm-9.log").exists()


def test_records_in_elastic_s_common_schema_become_records_of_the_log(tmp_path):
    document = {
        "@timestamp": "2026-11-23T11:59:59.500Z",
        "message": (
            "Triggering checkpoint 7 (type=CHECKPOINT) @ 1763899199500 for job "
            f"{'0123456789abcdef' * 2}."
        ),
        "log": {
            "level": "INFO",
            "logger": "org.apache.flink.runtime.checkpoint.CheckpointCoordinator",
        },
        "kubernetes": {"pod": {"name": "jm"}},
    }
    store = source(tmp_path, "elasticsearch", backfill_s=60)
    pull(SearchAnswers([(AT_NS // 10**6 - 500, document)]), store, at=AT)
    (found,) = [event for record in records(store) if (event := event_of(record))]
    assert found.checkpoint_id == 7
