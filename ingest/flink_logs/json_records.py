"""Lines that are JSON objects: whole log records of JSON layouts, or envelopes of one printed line.

Names are those of log4j2's ``JsonLayout`` and ``JsonTemplateLayout`` (its own event templates, ECS, GELF, logstash), of logback's
logstash encoder and of Amazon's managed Flink; as envelopes those of Docker's ``json-file``, journald's JSON export, Fluent Bit and Vector.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from ingest.flink_logs.envelopes import Peeled

MAX_JSON_BYTES = 1024 * 1024
MAX_CAUSES = 20
MAX_FRAMES = 500

_TIMES = ("@timestamp", "timestamp", "instant", "timeMillis", "time", "ts", "date", "datetime", "eventTime")
_LEVELS = ("level", "log.level", "severity", "levelname", "log_level", "loglevel")
_LOGGERS = ("loggerName", "logger_name", "logger", "log.logger", "_logger", "class")
_MESSAGES = ("message", "msg", "short_message", "formattedMessage", "rendered_message")
_TRACES = (
    "stack_trace", "error.stack_trace", "stackTrace", "stacktrace", "throwableInformation", "throwable", "exception", "thrown", "_exception"
)  # fmt: skip
_LINES = ("log", "MESSAGE", "message", "line")
"""Where an envelope has the line that was printed."""
_ENVELOPES = ("stream", "kubernetes", "container_name", "_HOSTNAME", "docker", "pod", "container", "source_type", "time")
_SYSLOG = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
"""GELF's levels, 0 … 7."""
_FIRST, _LAST = datetime(1971, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """``message`` has the stack trace below its first line, as layouts of text print it."""

    ts: datetime
    level: str
    logger: str
    message: str
    process: str


def read(line: bytes, zone: ZoneInfo) -> JsonRecord | Peeled | None:
    """What a line is; ``None`` where it is some other object. Raises ``ValueError`` with the reason where it is no JSON that is read."""
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
    return _record(document, zone) or _envelope(document)


def _record(document: dict[str, Any], zone: ZoneInfo) -> JsonRecord | None:
    level, message = _level(document), _first(document, _MESSAGES, str)
    if level is None or message is None:
        return None
    at = next((at for name in _TIMES if (at := _instant(document.get(name), zone))), None)
    if at is None:
        return None
    return JsonRecord(at, level, _logger(document), _with_trace(message, document), _pod(document))


def _envelope(document: dict[str, Any]) -> Peeled | None:
    text = _first(document, _LINES, str)
    if text is None or not any(name in document for name in _ENVELOPES):
        return None
    stream = str(document.get("stream") or "")[:20]
    stamp = document.get("time") or document.get("timestamp") or document.get("@timestamp") or ""
    # Docker ends a printed line with its line end, and cuts what is longer than 16 KiB.
    of_docker = isinstance(document.get("log"), str) and "time" in document and "kubernetes" not in document
    whole = not of_docker or text.endswith("\n")
    content = (text[:-1] if text.endswith("\n") else text).encode("utf-8", "replace")
    return Peeled("Docker json-file" if of_docker else "JSON of a log shipper", _pod(document), stream, content, whole, str(stamp).encode())


def _level(document: Mapping[str, Any]) -> str | None:
    found = _first(document, _LEVELS, str | int)
    if found is None and isinstance(document.get("log"), dict):
        found = document["log"].get("level")
    if isinstance(found, int) and not isinstance(found, bool):
        return _SYSLOG[found] if 0 <= found < len(_SYSLOG) else None
    return found.strip().upper()[:20] if isinstance(found, str) else None


def _logger(document: Mapping[str, Any]) -> str:
    found = _first(document, _LOGGERS, str)
    if found is None and isinstance(document.get("log"), dict):
        found = document["log"].get("logger")
    return found[:300] if isinstance(found, str) else ""


def _pod(document: Mapping[str, Any]) -> str:
    """Whoever printed it, where a shipper says so."""
    of_pod = document.get("kubernetes")
    if isinstance(of_pod, dict):
        pod, container = of_pod.get("pod_name") or of_pod.get("pod"), of_pod.get("container_name") or of_pod.get("container")
        names = (named.get("name") if isinstance(named, dict) else named for named in (pod, container))
        return "/".join(name for name in names if isinstance(name, str))[:500]
    host, unit = document.get("_HOSTNAME"), document.get("_SYSTEMD_UNIT") or document.get("SYSLOG_IDENTIFIER")
    name = f"{host}/{unit}" if isinstance(host, str) and isinstance(unit, str) else document.get("container_name")
    return name[:500] if isinstance(name, str) else ""


def _first(document: Mapping[str, Any], names: Iterable[str], kind: Any) -> Any:
    return next((value for name in names if isinstance(value := document.get(name), kind)), None)


def _instant(value: Any, zone: ZoneInfo) -> datetime | None:
    """A time in milliseconds; numbers are seconds or milliseconds since 1970, texts without a zone are of the declared one."""
    try:
        if isinstance(value, dict):
            value = value["epochSecond"] * 1000 + value.get("nanoOfSecond", 0) // 1_000_000
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            at = at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=zone).astimezone(UTC)
            at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            # A float of seconds is not exact: 1.001 s is a little less.
            ms = value if abs(value) > 1e11 else round(value * 1000)
            at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(ms))
        else:
            return None
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return at if _FIRST <= at < _LAST else None


def _with_trace(message: str, document: Mapping[str, Any]) -> str:
    trace = next((text for name in _TRACES if (text := _trace(document.get(name)))), "")
    if not trace and isinstance(document.get("error"), dict):
        trace = _trace(document["error"].get("stack_trace"))
    if not trace and isinstance(whole := document.get("full_message"), str) and whole != message:
        trace = whole.removeprefix(message).lstrip("\n")
    return f"{message}\n{trace.rstrip()}" if trace else message


def _trace(thrown: Any, causes: int = 0) -> str:
    """The stack trace as Java prints it."""
    if isinstance(thrown, str):
        return thrown
    if isinstance(thrown, list):
        return "\n".join(_frame(frame) for frame in thrown[:MAX_FRAMES])
    if not isinstance(thrown, dict):
        return ""
    for name in ("extendedStackTrace", "stacktrace", "stack_trace", "stackTrace"):
        if isinstance(thrown.get(name), str):
            return str(thrown[name])
    kind = _first(thrown, ("name", "exception_class", "className", "type", "class"), str) or ""
    said = _first(thrown, ("message", "exception_message", "localizedMessage"), str)
    frames = _first(thrown, ("extendedStackTrace", "stackTrace", "stacktrace"), list) or []
    lines = [f"{kind}: {said}" if said is not None else kind, *(_frame(frame) for frame in frames[:MAX_FRAMES])]
    if causes < MAX_CAUSES and (cause := _trace(thrown.get("cause"), causes + 1)):
        lines.append(f"Caused by: {cause}")
    return "\n".join(lines) if any(lines) else ""


def _frame(frame: Any) -> str:
    if isinstance(frame, dict):
        place = f"{frame.get('file') or frame.get('fileName')}:{frame.get('line') or frame.get('lineNumber')}"
        return f"\tat {frame.get('class') or frame.get('className')}.{frame.get('method') or frame.get('methodName')}({place})"
    return str(frame)
