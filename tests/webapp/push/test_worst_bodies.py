"""Whatever a shipper with a token sends, within the size of a body, is answered in less than a
second of CPU.
"""

import json
import threading
import time

import pytest
from django.core.cache import cache
from django.test import Client
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.pushed.bounds import MAX_PROCESSES, MAX_RECORDS
from tests.attacks.scale import examples
from tests.ingest.pushed.worst_bodies import JSON, LOGS, LOKI, WORST, records
from webapp.fleet.models import Cluster
from webapp.push import receiving as budget
from webapp.push.models import PushToken

MOST_CPU_S = 1.0
TRIES = 5
"""Where others use the machine the same work takes more of its time; the least of several tries is
what the work takes.
"""


@pytest.fixture
def tokens(home, db, monkeypatch):
    cache.clear()
    monkeypatch.setattr("webapp.push.receiving.BUDGET", budget.Budget())
    cluster = Cluster.objects.create(name="prod", logs_are_pushed=True)
    return [PushToken.objects.issue(cluster, name)[1] for name in ("fluent-bit", "vector")]


def push(token, door, content, content_type="application/json", encoding=""):
    headers = {"authorization": f"Bearer {token}", "content-encoding": encoding}
    return Client().post(
        f"/api/v1/push/{door}", content, content_type=content_type, headers=headers
    )


@pytest.mark.parametrize("name", list(WORST)[:: examples(5, 1)])
def test_a_body_is_answered_in_a_second_of_cpu(tokens, name, monkeypatch):
    monkeypatch.setattr(budget, "MAX_CPU_S_OF_TOKEN", 60.0)
    worst = WORST[name]
    content = worst.content()
    content_type = "application/x-protobuf" if worst.in_protobuf else "application/json"
    for _ in range(TRIES):
        began_s = time.process_time()
        answer = push(tokens[0], worst.door, content, content_type, worst.encoding)
        took_s = time.process_time() - began_s
        if took_s <= MOST_CPU_S:
            break
    assert took_s <= MOST_CPU_S
    assert answer.status_code in (200, 204, 400, 413)


def test_processes_that_are_remembered_at_length_cost_no_more_together(tokens):
    remembered = 4
    for number in range(remembered):
        lines = b"".join(
            b'{"log":"x","ts":%d,"pod":"p%d"}\n' % (line, number) for line in range(MAX_RECORDS)
        )
        assert push(tokens[number % 2], JSON, lines).status_code == 200
    body = b"".join(b'{"log":"y","ts":1,"pod":"p%d"}\n' % number for number in range(remembered))
    began_s = time.process_time()
    assert push(tokens[0], JSON, body).json()["lines"] == remembered
    assert time.process_time() - began_s <= MOST_CPU_S


def test_what_shippers_send_at_once_by_default_is_taken(tokens):
    line = "x" * 200
    event = {
        "message": line,
        "timestamp": "2026-11-23T01:02:03.004Z",
        "file": "/opt/flink/log/flink-a-taskmanager.log",
        "host": "node1",
    }
    vector = json.dumps(
        [event | {"message": f"{line} {number}"} for number in range(28_000)]
    ).encode()
    attributes = [{"key": f"k{number}", "value": {"stringValue": "v"}} for number in range(20)]
    logs = [
        {"timeUnixNano": str(number + 1), "body": {"stringValue": line}, "attributes": attributes}
        for number in range(8_192)
    ]
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]}
    otlp = ParseDict(request, ExportLogsServiceRequest()).SerializeToString()
    promtail = {
        "streams": [
            {
                "stream": {"pod": "p"},
                "values": [[str(number), line[:90]] for number in range(9_000)],
            }
        ]
    }
    assert push(tokens[0], JSON, vector).json()["lines"] == 28_000
    assert push(tokens[0], LOGS, otlp, "application/x-protobuf").status_code == 200
    assert push(tokens[0], LOKI, json.dumps(promtail).encode()).status_code == 204
    assert sum(PushToken.objects.values_list("lines", flat=True)) == 28_000 + 8_192 + 9_000


def test_what_is_refused_is_refused_whole_and_says_limit_and_what_was_seen(tokens, home):
    answer = push(tokens[0], JSON, records(b'{"log":"x"}\n')() + b'{"log":"x"}\n' * 2)
    assert answer.status_code == 413
    assert all(
        f"{number:,}" in answer.json()["error"]["message"]
        for number in (MAX_RECORDS, MAX_RECORDS + 1)
    )
    assert not list((home / "pushed").rglob("*.log"))


def test_lines_of_more_processes_than_a_body_may_name_are_refused_whole(tokens, home):
    lines = b"".join(b'{"log":"x","pod":"p%d"}\n' % number for number in range(MAX_PROCESSES + 1))
    assert push(tokens[0], JSON, lines).status_code == 413
    assert not list((home / "pushed").rglob("*.log"))


def test_a_token_that_takes_too_much_waits_and_others_push_on(tokens, monkeypatch):
    monkeypatch.setattr(budget, "MAX_CPU_S_OF_TOKEN", 0.0)
    assert push(tokens[0], JSON, b'{"log":"x"}').status_code == 200
    refused = push(tokens[0], JSON, b'{"log":"x"}')
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= budget.WINDOW_S
    assert push(tokens[1], JSON, b'{"log":"x"}').status_code == 200


def test_all_tokens_together_have_a_budget(tokens, monkeypatch):
    monkeypatch.setattr(budget, "MAX_CPU_S", 0.0)
    assert push(tokens[0], JSON, b'{"log":"x"}').status_code == 200
    assert push(tokens[1], JSON, b'{"log":"x"}').status_code == 429


def test_a_budget_is_of_its_window(tokens, monkeypatch):
    monkeypatch.setattr(budget, "MAX_CPU_S", 0.0)
    assert push(tokens[0], JSON, b'{"log":"x"}').status_code == 200
    monkeypatch.setattr(budget, "WINDOW_S", 0.001)
    assert push(tokens[0], JSON, b'{"log":"x"}').status_code == 200


def test_pushes_that_are_read_at_once_leave_threads_to_pages(tokens, monkeypatch):
    taken, free = budget.Budget(), threading.Event()
    all_hold = threading.Barrier(budget.MAX_AT_ONCE + 1)
    monkeypatch.setattr("webapp.push.receiving.BUDGET", taken)

    def hold() -> bool:
        all_hold.wait()
        return free.wait()

    holders = [
        threading.Thread(target=taken.spend, args=(number, hold))
        for number in range(budget.MAX_AT_ONCE)
    ]
    for holder in holders:
        holder.start()
    try:
        all_hold.wait(timeout=60)
        with monkeypatch.context() as impatient:
            impatient.setattr(budget, "TURN_WITHIN_S", 0.01)
            refused = push(tokens[0], JSON, b'{"log":"x"}')
    finally:
        free.set()
        for holder in holders:
            holder.join()
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    assert push(tokens[0], JSON, b'{"log":"x"}').status_code == 200
