"""Recorded logs as other deployments have them: the same lines in other envelopes, the same records
in other layouts.
"""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from ingest.records import LogRecord
from tests.ingest.flink_logs.log_records import records_of

Wrap = Callable[[bytes], bytes]
JOB = "26eb676de8b3e133f9078fabe3704eb6"
HEADER = (
    "2026-11-21 04:00:00,001 INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator  "
    "  [] - "
)
COMPLETED = (
    f"Completed checkpoint 5 for job {JOB} (1058577 bytes, checkpointDuration=230 ms, "
    "finalizationTime=12 ms)."
)
WARNING = HEADER.replace("INFO ", "WARN ")
FAILED = (
    f"{WARNING}Error while processing AcknowledgeCheckpoint message\njava.io.IOException: "
    "x\n\tat a.B\n2026 is a year"
)
_RECORDS = [
    f"{HEADER}{COMPLETED}",
    f"{HEADER}Served something.",
    FAILED,
    f"{HEADER.replace('INFO ', 'ERROR')}failed",
    "\tat a.b.C",
    "20 more",
    "",
    "2026-11-21 04:00:00.002 [main] WARN  o.a.f.B - careful\n\tat x",
    f"26/11/21 04:00:00 INFO checkpoint.C: {COMPLETED}",
    '{"timestamp": 1795233600001, "level": "WARN", "message": "json"}',
    '{"timestamp": 1795233600002, "level": "INFO", "message": "no"}',
    '{"level": "WARN", "message": ',
    "{",
    '{"a": 1}',
    "name | type",
    "04:00:00.001 [main] WARN a.B - no date",
    "2026-11-21 04:00:00,003 o.a.f.B                        [WARN ][flink/orders] careful\n\tat x",
    (
        "\x1b[33m2026-11-21 04:00:00,004\x1b[m \x1b[1;31mWARN \x1b[m a.B - coloured\n\tat "
        "\x1b[1mx\x1b[m"
    ),
    "\ufffd",
]
"""What may stand in a log: records in several layouts, pieces of traces, damage."""
_AROUND = [
    "{}",
    "2026-11-21T04:00:00.1Z stdout F {}",
    "2026-11-21T04:00:00.1Z stderr F {}",
    "2026-11-21T04:00:00.1Z stdout P {}",
    "2026-11-21T04:00:00.1Z {}",
    "jm-1  | {}",
    "tm-1  | {}",
    "[pod/a/b] {}",
    "Nov 21 04:00:00 host-1 flink[812]: {}",
]
ISO = "%Y-%m-%dT%H:%M:%S"


def records(log: bytes) -> list[LogRecord]:
    return records_of(log, file="recorded.log", keep="all")


def lines(log: bytes) -> list[str]:
    return log.decode(errors="surrogateescape").removesuffix("\n").split("\n")


def _bytes(text_lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in text_lines).encode(errors="surrogateescape")


def _each(form: str) -> Wrap:
    """Around each printed line; the envelope's time ends in digits that are not always there, as Go
    prints them.
    """
    return lambda log: _bytes(
        form.format(
            at=f"2026-11-21T04:00:{number % 60:02d}.{str(number)[::-1]}Z",
            day="Nov 21 04:00:00",
            line=line,
        )
        for number, line in enumerate(lines(log))
    )


def cri_in_pieces(log: bytes) -> bytes:
    """Lines of more than 60 characters come in pieces."""
    at = "2026-11-21T04:00:00.1Z"
    out = []
    for line in lines(log):
        pieces = [line[begin : begin + 60] for begin in range(0, len(line), 60)] or [""]
        out += [f"{at} stdout P {piece}" for piece in pieces[:-1]] + [f"{at} stdout F {pieces[-1]}"]
    return _bytes(out)


def docker(log: bytes) -> bytes:
    """Lines of more than 300 characters come in pieces, of which only the last has a line end."""
    out = []
    for line in log.decode(errors="replace").removesuffix("\n").split("\n"):
        whole = f"{line}\n"
        pieces = [whole[begin : begin + 300] for begin in range(0, len(whole), 300)]
        out += [
            json.dumps({"log": piece, "stream": "stdout", "time": "2026-11-21T04:00:00.123456789Z"})
            for piece in pieces
        ]
    return _bytes(out)


def shipped(log: bytes) -> bytes:
    kubernetes = {
        "pod_name": "orders-jobmanager-5d9",
        "namespace_name": "flink",
        "container_name": "flink-main-container",
    }
    return _bytes(
        json.dumps(
            {"date": 1795233600.5, "stream": "stdout", "log": line, "kubernetes": kubernetes},
            ensure_ascii=False,
        )
        for line in log.decode(errors="replace").removesuffix("\n").split("\n")
    )


def journald_json(log: bytes) -> bytes:
    return _bytes(
        json.dumps(
            {
                "__REALTIME_TIMESTAMP": "1795233600000000",
                "_HOSTNAME": "host-1",
                "_SYSTEMD_UNIT": "flink.service",
                "MESSAGE": line,
            }
        )
        for line in log.decode(errors="replace").removesuffix("\n").split("\n")
    )


AT = "2026-11-21T04:00:00.001Z"


def _exported(document: Callable[[str], dict[str, object]]) -> Wrap:
    """As a store of logs exports each printed line."""
    return lambda log: _bytes(
        json.dumps(document(line), ensure_ascii=False)
        for line in log.decode(errors="replace").removesuffix("\n").split("\n")
    )


ENVELOPES: dict[str, Wrap] = {
    "Elasticsearch": _exported(
        lambda line: (
            {"_index": "flink", "_id": "x", "_source": {"@timestamp": AT, "message": line}}
            | {"stream": "stdout"}
        )
    ),
    "Google Cloud Logging": _exported(
        lambda line: {"insertId": "x", "severity": "INFO", "textPayload": line, "timestamp": AT}
    ),
    "Azure Monitor": _exported(
        lambda line: {"TimeGenerated": AT, "PodName": "orders-6d8", "LogMessage": line}
    ),
    "SLS": _exported(lambda line: {"__time__": "1795233600", "__topic__": "", "content": line}),
    "Datadog": _exported(
        lambda line: {"id": "x", "attributes": {"service": "flink", "message": line}}
    ),
    "Loki": _exported(lambda line: {"labels": {"app": "a"}, "line": line, "timestamp": AT}),
    "Splunk": _exported(lambda line: {"preview": False, "result": {"_raw": line, "host": "h"}}),
    "stern": _each("orders-6d8 flink-main-container {line}"),
    "cri": _each("{at} stdout F {line}"),
    "cri in pieces": cri_in_pieces,
    "docker json-file": docker,
    "fluent bit": shipped,
    "journald json": journald_json,
    "docker compose": _each("jobmanager-1  | {line}"),
    "docker compose in colours": _each("\x1b[36mjobmanager_1  |\x1b[0m {line}"),
    "docker compose with time stamps": _each("jobmanager-1  | {at} {line}"),
    "kubectl with prefix": _each("[pod/orders-6d8/flink-main-container] {line}"),
    "kubectl with prefix and time stamps": _each(
        "[pod/orders-6d8/flink-main-container] {at} {line}"
    ),
    "kubectl with time stamps": _each("{at} {line}"),
    "syslog": _each("{day} host-1 flink[812]: {line}"),
    "syslog with priority": _each("<14>{day} host-1 flink[812]: {line}"),
    "journald": _each("2026-11-21T04:00:00+0000 host-1 flink[812]: {line}"),
    "syslog of RFC 5424": _each("<14>1 {at} host-1 flink 812 - - {line}"),
}


def _layout(form: str) -> Wrap:
    """Of each record: form takes ``at`` and ``day`` (date and time), ``ms``, ``level``, ``logger``,
    ``short``, ``message``.
    """

    def wrap(log: bytes) -> bytes:
        out = []
        for record in records(log):
            names = record.logger.split(".")
            abbreviated = ".".join([*(name[:1] for name in names[:-1]), names[-1]])
            out.append(
                form.format(
                    at=record.ts,
                    local=record.ts + timedelta(hours=8),
                    ms=f"{record.ts.microsecond // 1000:03d}",
                    level=record.level,
                    logger=record.logger,
                    short=abbreviated,
                    last=".".join(names[-2:]),
                    message=record.message,
                )
            )
        return _bytes(out)

    return wrap


TEXT_LAYOUTS: dict[str, Wrap] = {
    "thread": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} [flink-akka.actor.default-dispatcher-3] {level:<5} "
        "{logger:<60} [] - {message}"
    ),
    "thread with spaces": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} Source: a [x] (1/2)#0 {level:<5} {logger} [] - {message}"
    ),
    "thread behind the level": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} {level:<5} [Checkpoint Timer] {logger} - {message}"
    ),
    "mdc": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} {level:<5} {logger:<60} [flink-job-id=1, x=2] - {message}"
    ),
    "dot": _layout("{at:%Y-%m-%d %H:%M:%S}.{ms} {level:<5} {logger} [] - {message}"),
    "iso with zone": _layout("{at:%Y-%m-%dT%H:%M:%S}.{ms}Z {level:<5} [main] {logger} - {message}"),
    "iso with offset": _layout(
        "{local:%Y-%m-%dT%H:%M:%S},{ms}+0800 {level:<5} {logger}:123 - {message}"
    ),
    "logback": _layout("{at:%Y-%m-%d %H:%M:%S}.{ms} [main] {level:<5} {short} - {message}"),
    "operator": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} {short:<30} [{level:<5}][flink/orders] {message}"
    ),
    "operator, early": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} {short:<30} [{level:<5}] [flink.orders] {message}"
    ),
    "operator in colours": _layout(
        "\x1b[33m{at:%Y-%m-%d %H:%M:%S},{ms}\x1b[m \x1b[36m{short:<30}\x1b[m "
        "\x1b[32m[{level:<5}][flink/orders] {message}\x1b[m"
    ),
    "level in colours": _layout(
        "{at:%Y-%m-%d %H:%M:%S},{ms} \x1b[1;31m{level:<5}\x1b[m {logger:<60} [] - {message}"
    ),
    "level first": _layout(
        "{level:<5} [{at:%Y-%m-%d %H:%M:%S},{ms}] {logger}: {message}",
    ),
    "level first, in brackets": _layout(
        "[{level:<5}] {at:%Y-%m-%d %H:%M:%S}.{ms} [Checkpoint Timer] {last} - {message}"
    ),
    "logback 1.3": _layout("{at:%Y-%m-%d %H:%M:%S}.{ms} [main] {level:<5} {logger} -- {message}"),
    "spring": _layout(
        "{at:%Y-%m-%d %H:%M:%S}.{ms}  {level:<5} 1 --- [           main] {short} : {message}"
    ),
}
WITHOUT_DATE = {"logback": _layout("{at:%H:%M:%S}.{ms} [main] {level:<5} {logger} - {message}")}
WITHOUT_FRACTION = {
    "log4j 1, short": _layout("{at:%y/%m/%d %H:%M:%S} {level} {last}: {message}"),
    "no fraction": _layout("{at:%Y-%m-%d %H:%M:%S} {level} {logger} - {message}"),
}


def _json(document: Callable[[LogRecord, str, str], dict[str, object]]) -> Wrap:
    """``document`` makes it of a record, its first line and its stack trace."""

    def wrap(log: bytes) -> bytes:
        out = []
        for record in records(log):
            message, _, trace = record.message.partition("\n")
            made = document(record, message, trace)
            out.append(
                json.dumps(
                    {name: value for name, value in made.items() if value not in ("", None)},
                    ensure_ascii=False,
                )
            )
        return _bytes(out)

    return wrap


def _ms(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _thrown(trace: str) -> dict[str, object] | None:
    """As log4j2's JsonLayout takes a stack trace apart."""
    if not trace:
        return None
    first, *rest = trace.split("\n")
    kind, _, said = first.partition(": ")
    return {"commonElementCount": 0, "name": kind, "message": said, "extendedStackTrace": rest}


JSON_LAYOUTS: dict[str, Wrap] = {
    "Elasticsearch": _json(
        lambda r, m, t: {
            "_index": "flink",
            "_source": {
                "@timestamp": r.ts.isoformat(),
                "level": r.level,
                "message": m,
                "stack_trace": t,
            },
        }
    ),
    "Datadog": _json(
        lambda r, m, t: {
            "id": "x",
            "content": {
                "timestamp": r.ts.isoformat(),
                "message": m,
                "attributes": {"level": r.level, "error.stack_trace": t},
            },
        }
    ),
    "log4j2 JsonLayout": _json(
        lambda r, m, t: {
            "instant": {
                "epochSecond": _ms(r.ts) // 1000,
                "nanoOfSecond": _ms(r.ts) % 1000 * 1_000_000 + 123,
            },
            "thread": "main",
            "level": r.level,
            "loggerName": r.logger,
            "message": m,
            "thrown": {"name": "x", "extendedStackTrace": t} if t else None,
        }
    ),
    "log4j2 JsonLayout, trace taken apart": _json(
        lambda r, m, t: {
            "timeMillis": _ms(r.ts),
            "level": r.level,
            "loggerName": r.logger,
            "message": m,
            "thrown": _thrown(t)
            if ": " in t.partition("\n")[0]
            else {"extendedStackTrace": t}
            if t
            else None,
        }
    ),
    "JsonTemplateLayout (ECS)": _json(
        lambda r, m, t: {
            "@timestamp": r.ts.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "ecs.version": "1.2.0",
            "log.level": r.level,
            "message": m,
            "process.thread.name": "main",
            "log.logger": r.logger,
            "error.type": "x" if t else "",
            "error.stack_trace": t,
        }
    ),
    "JsonTemplateLayout (GELF)": _json(
        lambda r, m, t: {
            "version": "1.1",
            "host": "host-1",
            "short_message": m,
            "full_message": t,
            "timestamp": _ms(r.ts) / 1000,
            "level": {"ERROR": 3, "WARN": 4, "INFO": 6, "DEBUG": 7}[r.level],
            "_logger": r.logger,
            "_thread": "main",
        }
    ),
    "JsonTemplateLayout (logstash)": _json(
        lambda r, m, t: {
            "@version": 1,
            "source_host": "h",
            "message": m,
            "thread_name": "main",
            "@timestamp": r.ts.strftime(ISO) + f".{_ms(r.ts) % 1000:03d}+0000",
            "level": r.level,
            "logger_name": r.logger,
            "exception": {"exception_class": "x", "stacktrace": t} if t else None,
        }
    ),
    "logback, logstash encoder": _json(
        lambda r, m, t: {
            "@timestamp": r.ts.isoformat(),
            "@version": "1",
            "message": m,
            "logger_name": r.logger,
            "thread_name": "main",
            "level": r.level,
            "level_value": 20000,
            "stack_trace": t,
        }
    ),
    "ECS, nested": _json(
        lambda r, m, t: {
            "@timestamp": r.ts.isoformat(),
            "log": {"level": r.level.lower(), "logger": r.logger},
            "message": m,
            "error": {"stack_trace": t} if t else None,
        }
    ),
    "Amazon": _json(
        lambda r, m, t: {
            "locationInformation": "a.b.C.d(C.java:1)",
            "logger": r.logger,
            "message": m,
            "messageSchemaVersion": "1",
            "messageType": r.level,
            "level": r.level,
            "timestamp": _ms(r.ts),
            "threadName": "main",
            "throwableInformation": t,
        }
    ),
}


@st.composite
def mixed_logs(draw: st.DrawFn, pieces: bool = True) -> bytes:
    """Records of which each is in an envelope of its own, so that one file mixes all of them; with
    lines that come in pieces.
    """
    around = _AROUND if pieces else [envelope for envelope in _AROUND if " P " not in envelope]
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(_RECORDS), st.sampled_from(around)), max_size=14)
    )
    return "".join(
        f"{around.format(line)}\n" for record, around in chosen for line in record.split("\n")
    ).encode()
