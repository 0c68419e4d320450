"""Lines that are JSON objects: records of JSON layouts, or envelopes of one printed line.

Layouts: log4j2's ``JsonLayout`` and ``JsonTemplateLayout`` (its default, ECS, GELF, logstash),
logback's logstash encoder, Amazon's managed Flink. Envelopes: Docker, journald, Fluent Bit, Vector,
Elasticsearch, Google Cloud Logging, Azure Monitor, Alibaba's SLS, Datadog, Loki, Splunk.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from ingest.flink_logs.envelopes import Stripped
from ingest.flink_logs.record_splitter import may_be_read
from ingest.json_members import member

_QUIET = re.compile(rb'"(?:log\.)?level": ?"(?:INFO|DEBUG|TRACE)"').search
_LOUD = re.compile(rb'"(?:WARN|ERROR|FATAL)').search
_MESSAGE = b'"message":'


def is_routine(line: bytes) -> bool:
    """Whether the line surely is a record of INFO or below that the pattern table does not read: it
    need not be decoded.
    """
    at = line.find(_MESSAGE) + len(_MESSAGE)
    if at < len(_MESSAGE) or not line.startswith(b"{") or not line.endswith(b"}"):
        return False
    quote = at + (line[at : at + 1] == b" ")
    if line[quote : quote + 1] != b'"' or may_be_read(line, quote + 1):
        return False
    # With several messages or levels, only decoding shows which one is the record's.
    if (
        line.count(b'essage"') != 1
        or b'msg"' in line
        or line.count(b'level"') != 1
        or b'levelname"' in line
        or b'severity"' in line
    ):
        return False
    return (
        b"\\u" not in line
        and b"\\/" not in line
        and _QUIET(line) is not None
        and _LOUD(line) is None
    )


MAX_JSON_BYTES = 1024 * 1024
MAX_CAUSES = 20
MAX_WRAPS = 2
MAX_FRAMES = 500

_TIMES = (
    "@timestamp",
    "timestamp",
    "instant",
    "timeMillis",
    "time",
    "ts",
    "date",
    "datetime",
    "eventTime",
)
_LEVELS = (
    "level",
    "log.level",
    "severity",
    "levelname",
    "log_level",
    "loglevel",
    "messageType",
    "lvl",
)
_LOGGERS = ("loggerName", "logger_name", "logger", "log.logger", "_logger", "class")
_MESSAGES = ("message", "msg", "short_message", "formattedMessage", "rendered_message")
_TRACES = (
    "stack_trace",
    "error.stack_trace",
    "stackTrace",
    "stacktrace",
    "throwableInformation",
    "throwable",
    "exception",
    "thrown",
    "_exception",
)
_LINES = (
    *("log", "MESSAGE", "message", "line", "@message"),
    *("textPayload", "LogMessage", "LogEntry", "content", "_raw"),
)
_WRAPS = ("_source", "jsonPayload", "LogMessage", "attributes", "content", "result")
_ENVELOPES = (
    "stream",
    "kubernetes",
    "container_name",
    "_index",
    "_HOSTNAME",
    "docker",
    "pod",
    "container",
    "source_type",
    "time",
    "@message",
    "ingestionTime",
    *("insertId", "labels", "TimeGenerated", "TimeGenerated [UTC]", "__time__", "_raw", "service"),
)
_SYSLOG_LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_FIRST, _LAST = datetime(1971, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class JsonRecord(NamedTuple):
    ts: datetime
    level: str
    logger: str
    message: str
    process: str


def read(line: bytes, zone: ZoneInfo, stamp: bytes = b"") -> JsonRecord | Stripped | None:
    """``None`` for an object that is neither record nor envelope. ``stamp``: the envelope's time,
    for a record without time. Raises ``ValueError`` with the reason.
    """
    if len(line) > MAX_JSON_BYTES:
        raise ValueError(f"it is longer than {MAX_JSON_BYTES} bytes")
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError:
        if line.isascii():
            raise
        document = orjson.loads(line.decode("utf-8", "replace"))
    if not isinstance(document, dict):
        return None
    document = _without_cloudwatch(document)
    for wraps_left in range(MAX_WRAPS, -1, -1):
        names = _names(tuple(document))
        record = _record(document, names, zone, stamp.decode("ascii", "ignore"))
        inner = _first(document, names.wraps, (dict,)) if wraps_left and not record else None
        if not inner:
            break
        outer = {name: value for name, value in document.items() if value is not inner}
        document = {**outer, **inner}
    return record or _envelope(document, names)


def _without_cloudwatch(document: dict[str, Any]) -> dict[str, Any]:
    for name, time in (("@message", "@timestamp"), ("message", "timestamp")):
        inner = document.get(name)
        if isinstance(inner, str) and inner[:1] == "{":
            try:
                inner = orjson.loads(inner)
            except orjson.JSONDecodeError:
                continue
        if isinstance(inner, dict) and "message" in inner:
            return {time: document.get(time), **inner}
    return document


class _Names(NamedTuple):
    """Members that may be the time, the level and so on, the likeliest first."""

    times: tuple[str, ...]
    levels: tuple[str, ...]
    loggers: tuple[str, ...]
    messages: tuple[str, ...]
    traces: tuple[str, ...]
    lines: tuple[str, ...]
    wraps: tuple[str, ...]
    is_envelope: bool


@lru_cache(maxsize=500)
def _names(members: tuple[str, ...]) -> _Names:
    times, levels, loggers, messages, traces, lines, wraps = (
        tuple(name for name in names if name in members)
        for names in (_TIMES, _LEVELS, _LOGGERS, _MESSAGES, _TRACES, _LINES, _WRAPS)
    )
    is_envelope = any(name in members for name in _ENVELOPES)
    return _Names(times, levels, loggers, messages, traces, lines, wraps, is_envelope)


def _record(
    document: dict[str, Any], names: _Names, zone: ZoneInfo, stamp: str
) -> JsonRecord | None:
    level = _level(
        _first(document, names.levels, (str, int))
        if names.levels
        else _ecs_member(document, "level")
    )
    message = _first(document, names.messages, (str,))
    if level is None or message is None:
        return None
    for name in names.times:
        at = _instant(document[name], zone)
        if at is not None:
            break
    else:
        if not stamp or (at := _instant(stamp, zone)) is None:
            return None
    logger = (
        _first(document, names.loggers, (str,))
        if names.loggers
        else _ecs_member(document, "logger")
    )
    text = _with_trace(message, document, names.traces)
    return JsonRecord(
        at, level, logger[:300] if isinstance(logger, str) else "", text, _pod(document)
    )


def _envelope(document: dict[str, Any], names: _Names) -> Stripped | None:
    text = _first(document, names.lines, (str,)) if names.is_envelope else None
    if text is None:
        return None
    stream = str(document.get("stream") or "")[:20]
    stamp = document.get("time") or document.get("timestamp") or document.get("@timestamp") or ""
    # Docker's text has the line end, except for parts of a line longer than 16 KiB.
    is_docker = (
        isinstance(document.get("log"), str) and "time" in document and "kubernetes" not in document
    )
    has_line_end = text.endswith("\n")
    content = (text[:-1] if has_line_end else text).encode("utf-8", "replace")
    envelope = "Docker json-file" if is_docker else "JSON of a log shipper"
    return Stripped(
        envelope,
        _pod(document),
        stream,
        content,
        has_line_end or not is_docker,
        str(stamp).encode(),
    )


def _ecs_member(document: Mapping[str, Any], name: str) -> Any:
    return member(document.get("log"), name)


def _level(level: Any) -> str | None:
    if isinstance(level, str):
        return level.strip().upper()[:20]
    is_known = type(level) is int and 0 <= level < len(_SYSLOG_LEVELS)
    return _SYSLOG_LEVELS[level] if is_known else None


def _pod(document: Mapping[str, Any]) -> str:
    kubernetes = document.get("kubernetes")
    if kubernetes is None and "_HOSTNAME" not in document:
        name = document.get("container_name")
        return name[:500] if isinstance(name, str) else ""
    if isinstance(kubernetes, dict):
        pod = kubernetes.get("pod_name") or kubernetes.get("pod")
        container = kubernetes.get("container_name") or kubernetes.get("container")
        names = (part.get("name") if isinstance(part, dict) else part for part in (pod, container))
        return "/".join(name for name in names if isinstance(name, str))[:500]
    host = document.get("_HOSTNAME")
    unit = document.get("_SYSTEMD_UNIT") or document.get("SYSLOG_IDENTIFIER")
    return f"{host}/{unit}"[:500] if isinstance(host, str) and isinstance(unit, str) else ""


def _first(document: Mapping[str, Any], names: Iterable[str], kinds: tuple[type, ...]) -> Any:
    for name in names:
        value = document.get(name)
        if isinstance(value, kinds):
            return value
    return None


def _instant(value: Any, zone: ZoneInfo) -> datetime | None:
    try:
        if isinstance(value, dict):
            value = value["epochSecond"] * 1000 + value.get("nanoOfSecond", 0) // 1_000_000
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            if at.tzinfo is not UTC:
                at = (at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC)
            if at.microsecond % 1000:
                at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            # 0.001 ms are added since a float of 1.001 s is a little less than that.
            ms = value if abs(value) > 1e11 else value * 1000 + 0.001
            at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(ms))
        else:
            return None
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return at if _FIRST <= at < _LAST else None


def _with_trace(message: str, document: Mapping[str, Any], names: Iterable[str]) -> str:
    trace = ""
    for name in names:
        trace = trace or _trace(document[name])
    if not trace and isinstance(error := document.get("error"), dict):
        trace = _trace(error.get("stack_trace"))
    full_message = document.get("full_message")  # of GELF
    if not trace and isinstance(full_message, str) and full_message != message:
        trace = full_message.removeprefix(message).lstrip("\n")
    return f"{message}\n{trace.rstrip()}" if trace else message


def _trace(throwable: Any, depth: int = 0) -> str:
    if isinstance(throwable, str):
        return throwable
    if isinstance(throwable, list):
        return "\n".join(_frame(frame) for frame in throwable[:MAX_FRAMES])
    if not isinstance(throwable, dict):
        return ""
    for name in ("extendedStackTrace", "stacktrace", "stack_trace", "stackTrace"):
        if isinstance(throwable.get(name), str):
            return str(throwable[name])
    kind = (
        _first(throwable, ("name", "exception_class", "className", "type", "class"), (str,)) or ""
    )
    text = _first(throwable, ("message", "exception_message", "localizedMessage"), (str,))
    frames = _first(throwable, ("extendedStackTrace", "stackTrace", "stacktrace"), (list,)) or []
    lines = [
        f"{kind}: {text}" if text is not None else kind,
        *(_frame(frame) for frame in frames[:MAX_FRAMES]),
    ]
    if depth < MAX_CAUSES and (cause := _trace(throwable.get("cause"), depth + 1)):
        lines.append(f"Caused by: {cause}")
    return "\n".join(lines) if any(lines) else ""


def _frame(frame: Any) -> str:
    if isinstance(frame, dict):
        file = frame.get("file") or frame.get("fileName")
        line = frame.get("line") or frame.get("lineNumber")
        class_name = frame.get("class") or frame.get("className")
        method = frame.get("method") or frame.get("methodName")
        return f"\tat {class_name}.{method}({file}:{line})"
    return str(frame)
