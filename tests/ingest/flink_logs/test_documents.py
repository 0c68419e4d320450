"""Logs that are no lines, as stores of logs and Windows leave them: each gives the events of the
plain file.
"""

import csv
import io
import json

import pytest

from ingest.flink_logs.documents import READ_BYTES, pieces
from ingest.flink_logs.files import read_file
from tests.ingest.flink_logs.row_events import event_of

JOB = "26eb676de8b3e133f9078fabe3704eb6"
GRAPH = "org.apache.flink.runtime.executiongraph.ExecutionGraph"
FAILED = f"Job orders (eu) ({JOB}) switched from state RUNNING to FAILING."
TRACE = (
    "java.lang.RuntimeException: wrapped\n\tat org.apache.flink.A.b(A.java:1)\n"
    'Caused by: java.io.IOException: "disk", full\n\tat com.example.Enrich.map(Enrich.java:7)'
)
RECORDS = (
    ("2026-11-20 08:00:00.001", "INFO", f"Starting checkpoint scheduler of {JOB}", ""),
    ("2026-11-20 08:00:01.123", "WARN", FAILED, TRACE),
    ("2026-11-20 08:00:02.005", "INFO", "Starting checkpoint scheduler", ""),
)
LINES = [
    f"{at.replace('.', ',')} {level:<5} {GRAPH} [] - {text}" + (f"\n{trace}" if trace else "")
    for at, level, text, trace in RECORDS
]
PLAIN = "\n".join(LINES) + "\n"
MANAGED = [
    {"logger": GRAPH, "message": text, "messageType": level, "throwableInformation": trace}
    for _, level, text, trace in RECORDS
]
TIMES = [at for at, *_ in RECORDS]
MS = [1_795_161_600_001, 1_795_161_601_123, 1_795_161_602_005]
HITS = [{"_index": "flink", "_source": {"message": line}} for line in LINES]
LAYOUT = [
    {"instant": {"epochSecond": ms // 1000, "nanoOfSecond": ms % 1000 * 1_000_000}}
    | {"level": level, "loggerName": GRAPH, "message": text}
    | {"thrown": {"extendedStackTrace": trace}}
    for ms, (_, level, text, trace) in zip(MS, RECORDS, strict=True)
]


def table(head, rows):
    out = io.StringIO()
    csv.writer(out).writerows([head, *rows])
    return out.getvalue()


def events(data, path):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    records = [record for read, _ in read_file(str(path)) for record in read]
    return [
        (event.kind, event.ts, event.reason_text, event.detail)
        for event in filter(None, map(event_of, records))
    ]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PLAIN.encode("utf-8-sig"), id="byte order mark"),
        pytest.param(PLAIN.replace("\n", "\r\n").encode("utf-16"), id="PowerShell"),
        pytest.param(
            json.dumps(
                [
                    {"@timestamp": at, "@message": json.dumps(one)}
                    for at, one in zip(TIMES, MANAGED, strict=True)
                ]
            ),
            id="Logs Insights, JSON",
        ),
        pytest.param(
            json.dumps(
                {
                    "results": [
                        [
                            {"field": "@timestamp", "value": at},
                            {"field": "@message", "value": json.dumps(one)},
                        ]
                        for at, one in zip(TIMES, MANAGED, strict=True)
                    ]
                },
                indent=4,
            ),
            id="aws logs get-query-results",
        ),
        pytest.param(
            json.dumps(
                {
                    "events": [
                        {"timestamp": ms, "message": json.dumps(one), "ingestionTime": ms}
                        for ms, one in zip(MS, MANAGED, strict=True)
                    ]
                },
                indent=4,
            ),
            id="aws logs filter-log-events",
        ),
        pytest.param(
            table(
                ("timestamp", "message"),
                [(ms, json.dumps(one)) for ms, one in zip(MS, MANAGED, strict=True)],
            ),
            id="console of CloudWatch, CSV",
        ),
        pytest.param(
            table(
                ("@timestamp", "@message"),
                [(at, json.dumps(one)) for at, one in zip(TIMES, MANAGED, strict=True)],
            ),
            id="Logs Insights, CSV",
        ),
        pytest.param(
            table(("Date", "Host", "Message"), [("2026-11-20", "h", line) for line in LINES]),
            id="Datadog, CSV",
        ),
        pytest.param(table(("_time", "_raw"), [("8 AM", line) for line in LINES]), id="Splunk"),
        pytest.param(json.dumps({"took": 3, "hits": {"hits": HITS}}), id="Elasticsearch"),
        pytest.param(
            json.dumps(
                {
                    "status": "success",
                    "data": {
                        "result": [{"stream": {"pod": "a"}, "values": [["1", x] for x in LINES]}]
                    },
                }
            ),
            id="Loki",
        ),
        pytest.param(
            json.dumps([{"textPayload": one, "insertId": "a"} for one in LINES], indent=2),
            id="gcloud logging read",
        ),
        pytest.param(
            "".join(json.dumps(one, indent=2) + "\n" for one in LAYOUT), id="JsonLayout as it is"
        ),
        pytest.param(json.dumps(LAYOUT, indent=2), id="JsonLayout, complete"),
        pytest.param(
            "".join(
                f"[{at.replace('.', ',')}] [{level}] [flink-pekko-5] [{GRAPH}] - {text}\n"
                + (f"{trace}\n" if trace else "")
                for at, level, text, trace in RECORDS
            ),
            id="all in brackets",
        ),
        pytest.param(
            "".join(
                f"{at.replace('.', ',')} {level:<5} [flink-pekko-5] {text} ({GRAPH}:123)\n"
                + (f"{trace}\n" if trace else "")
                for at, level, text, trace in RECORDS
            ),
            id="thread before, logger behind the message",
        ),
    ],
)
def test_a_document_gives_the_events_of_the_plain_file(data, tmp_path):
    usual = events(PLAIN, tmp_path / "plain.log")
    assert [kind for kind, *_ in usual] == ["scheduler_started", "job_state", "scheduler_started"]
    assert events(data, tmp_path / "other.log") == usual


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"[{not JSON\n" + PLAIN.encode(), id="a line that begins like an array"),
        pytest.param(b"a,message\n" * 3 + b'"', id="a table without an end"),
        pytest.param(b"[" * 100_000, id="depth"),
        pytest.param(b"\n" * READ_BYTES * 2 + PLAIN.encode(), id="two pieces"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_document_is_read_as_it_is(data):
    read = b"".join(pieces(io.BytesIO(data)))
    assert read == data or read.count(b"\n") == 3
