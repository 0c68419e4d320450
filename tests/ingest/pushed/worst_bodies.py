"""Bodies that cost most to read, each as large as a body may be once it is unpacked, by name: the
door, its type, its encoding, the body.

``DOORS`` are the ends of the doors' addresses. What is packed is small as sent.
"""

import gzip
import struct
import time
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import NamedTuple

import zstandard

from ingest.json_bounds import values_in
from ingest.pushed.bodies import LARGEST_BODY_BYTES
from ingest.pushed.bounds import MAX_OTLP_RECORDS, MAX_PROCESSES, MAX_RECORDS, MAX_VALUES

JSON, LOKI, LOGS, METRICS = "logs/", "loki/api/v1/push", "v1/logs", "v1/metrics"
TRACES = "v1/traces"
_N = LARGEST_BODY_BYTES - 512
METRIC = b"flink.taskmanager.job.task.busyTimeMsPerSecond"


class Body(NamedTuple):
    door: str
    content: Callable[[], bytes]
    in_protobuf: bool = False
    encoding: str = ""


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf with a length."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def within(
    piece: bytes, *numbers: int, before: bytes = b"", after: bytes = b""
) -> Callable[[], bytes]:
    """As many of the piece as a body takes, in messages within messages of these fields, outermost
    first.
    """

    def made() -> bytes:
        content = before + piece * ((_N - len(before) - len(after)) // len(piece)) + after
        for number in reversed(numbers):
            content = field(number, content)
        return content

    return made


def repeated(piece: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[], bytes]:
    """As many as a body takes of JSON, by its bytes and its values."""
    room = MAX_VALUES - values_in(before) - values_in(after)
    times = min((_N - len(before) - len(after)) // len(piece), room // (values_in(piece) or 1))
    return lambda: before + piece * times + after


def records(piece: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[], bytes]:
    """As many records as a body takes."""
    return lambda: before + piece * (MAX_RECORDS - 1) + after


def _nested(depth: int, piece: bytes) -> bytes:
    """Values of OTLP: lists within lists."""
    for _ in range(depth):
        piece = field(5, field(1, piece))
    return piece


def _numbered(form: str, room: int = _N) -> bytes:
    made, size, number = [], 0, 0
    while size < room:
        made.append(form % {"n": number})
        size += len(made[-1])
        number += 1
    return "".join(made[:-1]).encode()


def _records_of_own_pods() -> bytes:
    lines = (
        b'{"log":"%d","pod":"p%d"}' % (number, number % MAX_PROCESSES)
        for number in range(MAX_RECORDS)
    )
    return b"\n".join(lines)


def _records_with(record: str) -> bytes:
    """As many as a body takes of records that differ by ``%(n)d``, by its bytes and its records."""
    longest = len(record % {"n": MAX_RECORDS})
    return "".join(
        record % {"n": number} for number in range(min(MAX_RECORDS, _N // longest))
    ).encode()


def _doubles_beside_a_logger(number: int) -> bytes:
    doubles = field(1, b"\x21" + struct.pack("<d", float(_HALF_WAY_SHORT))) * number
    pairs = (
        field(1, b"logger") + field(2, field(1, b"a")),
        field(1, b"a") + field(2, field(5, doubles)),
    )
    return field(
        1, field(2, field(2, field(5, field(6, b"".join(field(1, pair) for pair in pairs)))))
    )


def _gzip_members() -> bytes:
    empty = gzip.compress(b"")
    return empty * (_N // len(empty))


def _zstd_frames() -> bytes:
    empty = zstandard.ZstdCompressor(write_checksum=False).compress(b"")
    return empty * (_N // len(empty))


def _packed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(content)


def _packed_twice() -> bytes:
    return gzip.compress(gzip.compress(bytes(_N)))


_RECORD = (1, 2, 2)
_METRIC = (1, 2, 2)
_POINTS = (*_METRIC, 5)
_BAD = b"\xff"
_TO_1000_LINES = b'{"a":\n' * 900
_WANTED = field(1, METRIC)
_INTEGER = b"1" * 4300
"""As long as Python converts."""
with localcontext(prec=1_000):
    _HALF_WAY = f"{Decimal(2) ** -1075 * 3:e}".encode()
    """Between two doubles: all its digits have to be looked at."""
_HALF_WAY_SHORT = b"1.4298218827138e-305"
_METRIC_IN_JSON = (
    b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"'
    + METRIC
    + b'","gauge":{"dataPoints":['
)
_LOG_IN_JSON = b'{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"a"},"logRecords":['
_PROTO_RECORD = field(
    2,
    b"\x09" + b"\x01" * 8 + field(3, b"INFO") + field(5, field(1, b"x")) + field(6, field(1, b"a")),
)


_TRACKER = b"org.apache.flink.runtime.checkpoint.CheckpointStatsTracker"
_BETWEEN = b"\x39" + struct.pack("<Q", 179 * 10**16) + b"\x41" + struct.pack("<Q", 180 * 10**16)


def _spans(*spans: bytes) -> bytes:
    scope = field(1, field(1, _TRACKER))
    return field(1, field(2, scope + b"".join(field(2, span) for span in spans)))


def _span(attributes: bytes) -> bytes:
    of_job = _text("job_id", b"a" * 32) + _text("checkpointStatus", b"COMPLETED")
    return field(5, b"Checkpoint") + _BETWEEN + of_job + attributes


def _text(name: str, value: bytes) -> bytes:
    return field(9, field(1, name.encode()) + field(2, field(1, value)))


def _ints(name: str, value: int) -> bytes:
    return field(9, field(1, name.encode()) + field(2, b"\x18" + _varint(value)))


def _point() -> bytes:
    labels = b"".join(
        field(7, field(1, name) + field(2, field(1, b"b" * 20)))
        for name in (b"job_id", b"task_id", b"tm_id", b"host")
    )
    return field(
        1, b"\x19" + struct.pack("<Q", time.time_ns()) + b"\x21" + struct.pack("<d", 1.5) + labels
    )


WORST: dict[str, Body] = {
    # protobuf: logs
    "empty resources": Body(LOGS, within(b"\x0a\x00"), True),
    "empty scopes": Body(LOGS, within(b"\x12\x00", 1), True),
    "empty records": Body(LOGS, within(b"\x12\x00", 1, 2), True),
    "empty records, packed": Body(LOGS, lambda: _packed(within(b"\x12\x00", 1, 2)()), True, "zstd"),
    "empty attributes": Body(LOGS, within(b"\x32\x00", *_RECORD), True),
    "empty attributes of a resource": Body(LOGS, within(b"\x0a\x00", 1, 1), True),
    "attributes with a value": Body(
        LOGS, within(field(6, b"\x0a\x01a\x12\x03\x0a\x01b"), *_RECORD), True
    ),
    "records with an attribute": Body(
        LOGS, within(field(2, b"\x32\x00\x2a\x03\x0a\x01x"), 1, 2), True
    ),
    "records with a text": Body(LOGS, within(field(2, b"\x2a\x03\x0a\x01x"), 1, 2), True),
    "an attribute that is a map of empty pairs": Body(
        LOGS, within(b"\x0a\x00", *_RECORD, 6, 2, 6), True
    ),
    "a body that is a list of empty values": Body(LOGS, within(b"\x0a\x00", *_RECORD, 5, 5), True),
    "a body of values nested deeply": Body(
        LOGS, within(field(1, _nested(15, b"\x0a\x01x")), *_RECORD, 5, 5), True
    ),
    "bodies that overwrite one another": Body(
        LOGS, within(b"\x2a\x04\x2a\x02\x0a\x00", *_RECORD), True
    ),
    "unknown fields": Body(LOGS, within(b"\x78\x00"), True),
    "unknown fields of resources": Body(LOGS, within(b"\x78\x00", 1), True),
    "unknown fields of scopes": Body(LOGS, within(b"\x78\x00", 1, 2), True),
    "unknown fields of records": Body(LOGS, within(b"\x78\x00", *_RECORD), True),
    "groups": Body(LOGS, within(b"\x7b\x7c"), True),
    "groups within groups": Body(LOGS, lambda: b"\x7b" * (_N // 2) + b"\x7c" * (_N // 2), True),
    "numbers of ten bytes": Body(LOGS, within(b"\x78" + b"\x80" * 9 + b"\x01"), True),
    "a tag without an end": Body(LOGS, repeated(b"\x80"), True),
    "records, then damage": Body(LOGS, within(b"\x12\x00", 1, 2, after=b"\xff"), True),
    "records with texts that are no UTF-8": Body(
        LOGS, within(field(2, b"\x2a\x03\x0a\x01" + _BAD), 1, 2), True
    ),
    "a text that is no UTF-8 behind attributes": Body(
        LOGS, within(b"\x32\x00", *_RECORD, after=b"\x2a\x03\x0a\x01" + _BAD), True
    ),
    "one text that is no UTF-8": Body(LOGS, within(_BAD, *_RECORD, 5, 1), True),
    "a long text that is no UTF-8, nested deeply": Body(
        LOGS,
        lambda: field(1, field(2, field(2, field(5, _nested(28, field(1, _BAD * (_N - 600))))))),
        True,
    ),
    "as many records": Body(
        LOGS, lambda: field(1, field(2, _PROTO_RECORD * (MAX_OTLP_RECORDS - 2))), True
    ),
    "as many records below a long scope": Body(
        LOGS,
        lambda: field(
            1,
            field(2, field(1, field(1, b"x" * 8_000_000)) + _PROTO_RECORD * (MAX_OTLP_RECORDS - 2)),
        ),
        True,
    ),
    "as many records below a long pod": Body(
        LOGS,
        lambda: field(
            1,
            field(1, field(1, field(1, b"pod") + field(2, field(1, b" " * 8_000_000))))
            + field(2, _PROTO_RECORD * (MAX_OTLP_RECORDS - 2)),
        ),
        True,
    ),
    "as many scopes with a record": Body(
        LOGS, lambda: field(1, field(2, _PROTO_RECORD) * (MAX_OTLP_RECORDS // 2 - 1)), True
    ),
    "as many resources with a record": Body(
        LOGS, lambda: field(1, field(2, _PROTO_RECORD)) * (MAX_OTLP_RECORDS // 3), True
    ),
    "a map of doubles beside a logger": Body(
        LOGS,
        within(
            field(
                1, field(1, b"a") + field(2, b"\x21" + struct.pack("<d", float(_HALF_WAY_SHORT)))
            ),
            *(*_RECORD, 5, 6),
            before=field(1, field(1, b"logger") + field(2, field(1, b"a"))),
        ),
        True,
    ),
    "a list of doubles beside a logger": Body(LOGS, lambda: _doubles_beside_a_logger(49_000), True),
    # protobuf: spans
    "empty spans": Body(TRACES, within(b"\x12\x00", 1, 2), True),
    "empty attributes of a span": Body(TRACES, within(b"\x4a\x00", 1, 2, 2), True),
    "empty attributes of a wanted span": Body(
        TRACES, lambda: _spans(_span(within(b"\x4a\x00")()[: _N - 300])), True
    ),
    "empty events of a span": Body(TRACES, within(b"\x5a\x00", 1, 2, 2), True),
    "as many wanted spans": Body(
        TRACES,
        lambda: _spans(*(_span(_ints("checkpointId", n)) for n in range(MAX_OTLP_RECORDS - 2))),
        True,
    ),
    "a wanted span with a long name of its job": Body(
        TRACES, lambda: _spans(_span(_text("job_name", b"x " * (_N // 2 - 300)))), True
    ),
    "wanted spans with labels": Body(
        TRACES,
        lambda: _spans(
            *(
                _span(b"".join(_text(f"failureLabel.{n}", b"x" * 40) for n in range(60)))
                for _ in range(1_500)
            )
        ),
        True,
    ),
    # protobuf: metrics
    "as many samples": Body(
        METRICS,
        lambda: field(1, field(2, field(2, _WANTED + field(5, _point() * MAX_OTLP_RECORDS)))),
        True,
    ),
    "as many metrics with a sample": Body(
        METRICS,
        lambda: field(1, field(2, field(2, _WANTED + field(5, _point())) * MAX_OTLP_RECORDS)),
        True,
    ),
    "empty metrics": Body(METRICS, within(b"\x12\x00", 1, 2), True),
    "metrics with names": Body(METRICS, within(field(2, b"\x0a\x01a"), 1, 2), True),
    "metrics with names as long as are read": Body(
        METRICS,
        lambda: field(
            1,
            field(
                2,
                b"".join(
                    field(
                        2, field(1, b"flink.taskmanager.job.task." + b"%06d" % n + b"_Current" * 33)
                    )
                    for n in range(50_000)
                ),
            ),
        ),
        True,
    ),
    "wanted metrics": Body(METRICS, within(field(2, _WANTED), 1, 2), True),
    "empty points": Body(METRICS, within(b"\x0a\x00", *_POINTS), True),
    "empty points of a wanted metric": Body(
        METRICS, lambda: field(1, field(2, field(2, _WANTED + within(b"\x0a\x00", 5)()))), True
    ),
    "points with a value": Body(
        METRICS,
        lambda: field(
            1,
            field(
                2,
                field(
                    2,
                    _WANTED + within(field(1, b"\x19" + b"\x01" * 8 + b"\x21" + b"\x01" * 8), 5)(),
                ),
            ),
        ),
        True,
    ),
    "empty attributes of a point": Body(
        METRICS, lambda: field(1, field(2, field(2, _WANTED + within(b"\x3a\x00", 5, 1)()))), True
    ),
    "histograms": Body(METRICS, within(b"\x0a\x00", *_METRIC, 9), True),
    # JSON records
    "empty objects": Body(JSON, repeated(b"{}\n")),
    "empty objects, packed": Body(
        JSON, lambda: gzip.compress(repeated(b"{}\n")()), encoding="gzip"
    ),
    "empty objects of a list": Body(JSON, repeated(b"{},", b"[", b"{}]")),
    "records of one character": Body(JSON, repeated(b'{"log":"x"}\n')),
    "records of one character each with its pod": Body(JSON, _records_of_own_pods),
    "records with a logger": Body(JSON, repeated(b'{"logger":1}\n')),
    "records with all names": Body(
        JSON, repeated(b'{"kubernetes":{"pod":{"x":1}},"file":{"x":1},"log":"x"}\n')
    ),
    "empty lines": Body(JSON, repeated(b"\n")),
    "brackets": Body(JSON, repeated(b"[")),
    "brackets closed": Body(JSON, repeated(b"]")),
    "objects that open, line by line": Body(JSON, repeated(b'{"a":\n')),
    "objects that open before a long list": Body(JSON, repeated(b"1,", _TO_1000_LINES + b"[")),
    "objects that open before a long text": Body(JSON, repeated(b"x", _TO_1000_LINES + b'"')),
    "objects that open before escapes": Body(JSON, repeated(b"\\n", _TO_1000_LINES + b'"')),
    "objects that open before brackets": Body(JSON, repeated(b"1,", _TO_1000_LINES + b"[" * 1000)),
    "texts that do not end": Body(JSON, repeated(b'{"\n')),
    "damaged lines": Body(JSON, repeated(b"x\n")),
    "damaged lines between good ones": Body(JSON, repeated(b'x\n{"log":"x"}\n')),
    "escapes": Body(JSON, repeated(b"\\u0041", b'{"log":"', b'"}')),
    "short escapes": Body(JSON, repeated(b"\\n", b'{"log":"', b'"}')),
    "halves of characters": Body(JSON, repeated(b"\\ud800", b'{"log":"', b'"}')),
    "a long integer": Body(JSON, repeated(b"1", b'{"log":"x","n":', b"}")),
    "integers as long as are read": Body(
        JSON, repeated(b"1" * 4300 + b",", b'{"log":"x","n":[', b"1]}")
    ),
    "a long fraction": Body(JSON, repeated(b"1", b'{"log":"x","n":0.', b"}")),
    "long fractions": Body(JSON, repeated(b"0." + b"1" * 800 + b",", b'{"log":"x","n":[', b"1]}")),
    "an exponent": Body(JSON, repeated(b"9", b'{"log":"x","n":1e', b"}")),
    "one name again and again": Body(JSON, repeated(b'"a":1,', b'{"log":"x",', b'"b":1}')),
    "names that differ": Body(
        JSON, lambda: b'{"log":"x",' + _numbered('"%(n)d":1,', 5_000_000) + b'"b":1}'
    ),
    "lists within a record": Body(JSON, repeated(b"[],", b'{"log":"x","n":[', b"[]]}")),
    "time that is a long list": Body(JSON, repeated(b"[],", b'{"log":"x","time":[', b"[]]}")),
    "a record nested as deeply as is read": Body(
        JSON, repeated(b'{"log":"x","time":' + b"[" * 970 + b"]" * 970 + b"}\n")
    ),
    "a file with a long name": Body(JSON, repeated(b"1.", b'{"log":"x","file":"', b'"}')),
    "a pod with a long name": Body(JSON, repeated(b"._", b'{"log":"x","pod":"', b'"}')),
    "as many records as are read": Body(JSON, records(b'{"log":"x"}\n')),
    "as many records of three levels": Body(
        JSON, records(b'{"kubernetes":{"pod":{"x":1}},"log":"x"}\n')
    ),
    "as many records with a logger": Body(
        JSON, records(b'{"logger":1,"a":{"b":[1,2,3]},"c":"d"}\n')
    ),
    "as many records of 300 bytes": Body(
        JSON, records(b'{"log":"' + b"x" * 300 + b'","pod":"p"}\n')
    ),
    "as many empty records": Body(JSON, records(b"{}\n")),
    "as many damaged records": Body(JSON, records(b"x\n")),
    "a record with a long time": Body(JSON, repeated(b"x", b'{"log":"x","time":"', b'"}')),
    "records that say nothing but blanks": Body(JSON, records(b'{"log":"' + b" " * 250 + b'"}\n')),
    "one record of blanks": Body(JSON, repeated(b" ", b'{"log":"', b'"}')),
    "times that are long integers": Body(JSON, repeated(b'{"log":"x","ts":' + _INTEGER + b"}\n")),
    "times of parts that are long integers": Body(
        JSON, repeated(b'{"log":"x","instant":{"s":' + _INTEGER + b"}}\n")
    ),
    "times that are long fractions": Body(JSON, repeated(b'{"log":"x","ts":' + _HALF_WAY + b"}\n")),
    "long integers beside a logger": Body(
        JSON, repeated(_INTEGER + b",", b'{"logger":1,"n":[', b"1]}")
    ),
    "long fractions beside a logger": Body(
        JSON, repeated(_HALF_WAY + b",", b'{"logger":1,"n":[', b"1]}")
    ),
    "fractions beside a logger": Body(
        JSON, repeated(_HALF_WAY_SHORT + b",", b'{"logger":1,"n":[', b"1]}")
    ),
    "fractions beside a logger and a long integer": Body(
        JSON, repeated(_HALF_WAY_SHORT + b",", b'{"logger":1,"n":[' + _INTEGER + b",", b"1]}")
    ),
    "integers beside a long one": Body(
        JSON, repeated(b"1,", b'{"log":"x","n":[' + _INTEGER + b",", b"1]}")
    ),
    "a time of many parts": Body(
        JSON,
        lambda: b'{"log":"x","instant":{' + _numbered('"%(n)d":1.4298218827138e-305,') + b'"b":1}}',
    ),
    "files with names as long as paths": Body(
        JSON, lambda: _records_with('{"log":"x","file":"/%(n)d' + ".1" * 2_000 + '"}\n')
    ),
    "files of one name in folders of their own": Body(
        JSON,
        lambda: _records_with('{"log":"x","file":"/%(n)d' + "/pods/a_b_c" * 40 + '/jm.log"}\n'),
    ),
    "files with names of dates": Body(
        JSON, lambda: _records_with('{"log":"x","file":"%(n)d' + "-2026-11-21_1" * 38 + '"}\n')
    ),
    "files of hosts with long names": Body(
        JSON,
        lambda: _records_with('{"log":"x","file":"jm.log","host":"%(n)d' + "._" * 250 + '"}\n'),
    ),
    "pods with long names": Body(
        JSON, lambda: _records_with('{"log":"x","pod":"%(n)d' + "._" * 250 + '"}\n')
    ),
    "pods with long names of one process": Body(
        JSON, lambda: _records_with('{"log":"x","pod":"%(n)d' + "p/" * 250 + '"}\n')
    ),
    # Loki
    "empty streams": Body(LOKI, repeated(b"{},", b'{"streams":[', b"{}]}")),
    "streams without values": Body(
        LOKI, repeated(b'{"stream":{},"values":[]},', b'{"streams":[', b"{}]}")
    ),
    "empty values": Body(LOKI, repeated(b"[],", b'{"streams":[{"stream":{},"values":[', b"[]]}]}")),
    "shortest lines": Body(
        LOKI, repeated(b'["","x"],', b'{"streams":[{"stream":{},"values":[', b"[]]}]}")
    ),
    "shortest lines below many labels": Body(
        LOKI,
        lambda: (
            b'{"streams":[{"stream":{'
            + _numbered('"%(n)d":"",', 500_000)
            + b'"z":""},"values":['
            + b'["","x"],' * 29_000
            + b"[]]}]}"
        ),
    ),
    "as many lines below a long label": Body(
        LOKI,
        lambda: (
            b'{"streams":[{"stream":{"pod":"'
            + b" " * 12_000_000
            + b'x"},"values":['
            + b'["1","x"],' * (MAX_RECORDS - 2)
            + b'["","x"]]}]}'
        ),
    ),
    "as many streams": Body(
        LOKI,
        lambda: (
            b'{"streams":['
            + b'{"stream":{},"values":[["","x"]]},' * (MAX_RECORDS // 2 - 1)
            + b"{}]}"
        ),
    ),
    "as many damaged values": Body(
        LOKI,
        lambda: (
            b'{"streams":[{"stream":{},"values":[' + b"[[[[1]]]]," * (MAX_RECORDS - 2) + b"[]]}]}"
        ),
    ),
    "Loki of a text of quotation marks that does not end": Body(
        LOKI, repeated(b'\\"', b"[" * 2000 + b'"', b"\\")
    ),
    "Loki whose values are no lines and nested": Body(
        LOKI,
        repeated(b"[" * 33 + b"]" * 33 + b",", b'{"streams":[{"stream":{},"values":[', b"1]}]}"),
    ),
    "records that are none and nested": Body(
        LOGS,
        lambda: _LOG_IN_JSON + (b"[" * 48 + b"]" * 48 + b",") * (MAX_OTLP_RECORDS - 9) + b"1]}]}]}",
    ),
    "Loki nested too deeply": Body(
        LOKI, lambda: b'{"streams":' + b"[" * 900_000 + b"]" * 900_000 + b"}"
    ),
    "Loki with texts behind what is nested too deeply": Body(
        LOKI, lambda: b'{"streams":[' + b"[" * 2000 + b"]" * 2000 + b',""' * 900_000 + b"]}"
    ),
    "Loki with escapes behind what is nested too deeply": Body(
        LOKI,
        lambda: (
            b'{"streams":[' + b"[" * 2000 + b"]" * 2000 + b',"' + b"\\n" * (_N // 2 - 4000) + b'"]}'
        ),
    ),
    "Loki of one text that does not end": Body(LOKI, repeated(b"\\", b"[" * 2000 + b'"')),
    "values that are lists of long integers": Body(
        LOKI, repeated(b"[" + _INTEGER + b"],", b'{"streams":[{"stream":{},"values":[', b"[]]}]}")
    ),
    "values that are lists of fractions": Body(
        LOKI, repeated(_HALF_WAY_SHORT + b",", b'{"streams":[{"stream":{},"values":[[', b"1]]}]}")
    ),
    "values that are objects of fractions": Body(
        LOKI,
        lambda: (
            b'{"streams":[{"stream":{},"values":[{'
            + _numbered('"%(n)d":1.4298218827138e-305,', 12_000_000)
            + b'"b":1}]}]}'
        ),
    ),
    # OTLP in JSON
    "as many records in JSON below a long scope": Body(
        LOGS,
        lambda: (
            b'{"resourceLogs":[{"scopeLogs":[{"scope":{"name":"'
            + b"x" * 8_000_000
            + b'"},"logRecords":['
            + b'{"timeUnixNano":1,"severityText":"INFO","body":{"stringValue":"x"}},'
            * (MAX_OTLP_RECORDS - 3)
            + b"{}]}]}]}"
        ),
    ),
    "JSON of empty resources": Body(LOGS, repeated(b"{},", b'{"resourceLogs":[', b"{}]}")),
    "JSON of empty scopes": Body(
        LOGS, repeated(b"{},", b'{"resourceLogs":[{"scopeLogs":[', b"{}]}]}")
    ),
    "JSON of empty records": Body(
        LOGS, repeated(b"{},", b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[', b"{}]}]}]}")
    ),
    "JSON of records below many attributes": Body(
        LOGS,
        lambda: (
            b'{"resourceLogs":[{"resource":{"attributes":['
            + _numbered('{"key":"%(n)d"},', 500_000)
            + b'{}]},"scopeLogs":[{"logRecords":['
            + b"{}," * 19_000
            + b"{}]}]}]}"
        ),
    ),
    "JSON of empty attributes": Body(
        LOGS,
        repeated(
            b"{},", b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[', b"{}]}]}]}]}"
        ),
    ),
    "JSON of attributes with a value": Body(
        LOGS,
        repeated(
            b'{"key":"a","value":{"stringValue":"b"}},',
            b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[',
            b"{}]}]}]}]}",
        ),
    ),
    "JSON of empty spans": Body(
        TRACES, repeated(b"{},", b'{"resourceSpans":[{"scopeSpans":[{"spans":[', b"{}]}]}]}")
    ),
    "JSON of wanted spans": Body(
        TRACES,
        repeated(
            b'{"name":"Checkpoint","startTimeUnixNano":1,"attributes":[{}]},',
            b'{"resourceSpans":[{"scopeSpans":[{"scope":{"name":"' + _TRACKER + b'"},"spans":[',
            b"{}]}]}]}",
        ),
    ),
    "JSON of empty metrics": Body(
        METRICS, repeated(b"{},", b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[', b"{}]}]}]}")
    ),
    "JSON of metrics with names": Body(
        METRICS,
        repeated(
            b'{"name":"."},', b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[', b"{}]}]}]}"
        ),
    ),
    "JSON of empty points": Body(
        METRICS,
        repeated(
            b"{},",
            b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"'
            + METRIC
            + b'","gauge":{"dataPoints":[',
            b"{}]}}]}]}]}",
        ),
    ),
    "JSON of points with a value": Body(
        METRICS,
        repeated(
            b'{"timeUnixNano":1,"asInt":1},',
            b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"'
            + METRIC
            + b'","gauge":{"dataPoints":[',
            b"{}]}}]}]}]}",
        ),
    ),
    "JSON of a time that is a list of fractions": Body(
        LOGS, repeated(_HALF_WAY_SHORT + b",", _LOG_IN_JSON + b'{"timeUnixNano":[', b"1]}]}]}]}")
    ),
    "JSON of a text that is a list of fractions beside a logger": Body(
        LOGS,
        repeated(
            _HALF_WAY_SHORT + b",",
            _LOG_IN_JSON
            + b'{"body":{"kvlistValue":{"values":[{"key":"logger","value":{"stringValue":[',
            b"1]}}]}}}]}]}]}",
        ),
    ),
    "JSON of the key of an attribute that is a list of fractions": Body(
        LOGS,
        repeated(_HALF_WAY_SHORT + b",", _LOG_IN_JSON + b'{"attributes":[{"key":[', b"1]}]}]}]}]}"),
    ),
    "JSON of doubles beside a logger": Body(
        LOGS,
        lambda: (
            _LOG_IN_JSON
            + b'{"body":{"kvlistValue":{"values":[{"key":"logger","value":{"stringValue":"a"}},{"key":"a","value":{"arrayValue":{"values":['
            + b'{"doubleValue":1.4298218827138e-305},' * 99_000
            + b"{}]}}}]}}}]}]}]}"
        ),
    ),
    "JSON of times that are long integers": Body(
        LOGS,
        repeated(
            b'{"timeUnixNano":' + _INTEGER + b',"severityText":"I","body":{"stringValue":"x"}},',
            _LOG_IN_JSON,
            b"{}]}]}]}",
        ),
    ),
    "JSON of times that are texts of long integers": Body(
        LOGS,
        repeated(
            b'{"timeUnixNano":"' + _INTEGER + b'","severityText":"I","body":{"stringValue":"x"}},',
            _LOG_IN_JSON,
            b"{}]}]}]}",
        ),
    ),
    "JSON of long integers in UTF-16": Body(
        LOGS,
        lambda: (
            (_LOG_IN_JSON + (b'{"timeUnixNano":' + _INTEGER + b"},") * 1_900 + b"{}]}]}]}")
            .decode()
            .encode("utf-16")
        ),
    ),
    "JSON of points at times that are long integers": Body(
        METRICS,
        repeated(b'{"timeUnixNano":' + _INTEGER + b',"asInt":1},', _METRIC_IN_JSON, b"{}]}}]}]}]}"),
    ),
    "JSON of points at times that are texts of long integers": Body(
        METRICS,
        repeated(
            b'{"timeUnixNano":"' + _INTEGER + b'","asInt":"' + _INTEGER + b'"},',
            _METRIC_IN_JSON,
            b"{}]}}]}]}]}",
        ),
    ),
    "JSON of points whose values are texts of long fractions": Body(
        METRICS,
        lambda: (
            _METRIC_IN_JSON
            + (b'{"timeUnixNano":"%d","asDouble":"' % time.time_ns() + _HALF_WAY + b'"},') * 19_990
            + b"{}]}}]}]}]}"
        ),
    ),
    "JSON of points with labels that are long integers": Body(
        METRICS,
        repeated(
            b'{"timeUnixNano":1,"asInt":1,"attributes":[{"key":"host","value":{"intValue":'
            + _INTEGER
            + b"}}]},",
            _METRIC_IN_JSON,
            b"{}]}}]}]}]}",
        ),
    ),
    # packings
    "many gzips, one behind the other": Body(JSON, _gzip_members, encoding="gzip"),
    "zeros behind a gzip": Body(
        JSON, lambda: gzip.compress(b"{}") + bytes(_N - 100), encoding="gzip"
    ),
    "many frames of zstd": Body(JSON, _zstd_frames, encoding="zstd"),
    "frames of zstd that are skipped": Body(
        JSON, repeated(b"\x50\x2a\x4d\x18\x00\x00\x00\x00"), encoding="zstd"
    ),
    "a gzip of a gzip": Body(JSON, _packed_twice, encoding="gzip"),
    "a gzip with a long name": Body(
        JSON, repeated(b"x", b"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00"), encoding="gzip"
    ),
    "a gzip of more than is read": Body(
        JSON, lambda: gzip.compress(bytes(64 * 1024 * 1024)), encoding="gzip"
    ),
    "a zstd of more than is read": Body(
        JSON, lambda: _packed(bytes(256 * 1024 * 1024)), encoding="zstd"
    ),
}
