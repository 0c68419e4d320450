import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from ingest.flink_logs.names import process_of
from ingest.pushed.bounds import MAX_ORIGINS, Count

UNNAMED = "pushed"

MAX_PROCESS_CHARACTERS = 200
MAX_ORIGIN_CHARS = 512
"""Paths below ``/var/log/pods`` have up to 460 characters, other names 255."""
MAX_PARTS_OF_A_TIME = 4
SHOWN_CHARS = 80
MAX_PARTS_SHOWN, OUTLINE_DEPTH = 4, 2
MAX_LINE_CHARACTERS = 256 * 1024


class _Name(NamedTuple):
    """A name with dots, which may also be flat with ``_`` (as in Loki) or nested."""

    full: str
    flat: str
    head: str
    rest: "_Name | None"


def _name(full: str) -> _Name:
    head, dot, rest = full.partition(".")
    return _Name(full, full.replace(".", "_"), head, _name(rest) if dot else None)


class _Names(NamedTuple):
    """Names of the same meaning, the preferred first. Records with such names have one of
    ``first_parts``.
    """

    names: tuple[_Name, ...]
    first_parts: frozenset[str]

    def are_in(self, record: Mapping[str, Any]) -> bool:
        return not self.first_parts.isdisjoint(record)


def _names(*names: str) -> _Names:
    parsed_names = tuple(map(_name, names))
    return _Names(
        parsed_names,
        frozenset(part for name in parsed_names for part in (name.full, name.flat, name.head)),
    )


_LOGGERS = _names("log.logger", "logger_name", "loggerName", "logger", "_logger", "LoggerName")
"""A record with one of these has a JSON layout; it is not a line of text."""

_TEXTS = _names(
    "log", "message", "msg", "MESSAGE", "body", "line", "event.original", "short_message"
)
_TIMES = ("stamp", "@timestamp", "timestamp", "time", "date", "ts", "timeMillis", "instant")
_PODS = _names("kubernetes.pod_name", "kubernetes.pod.name", "k8s.pod.name", "pod_name", "pod")
_FILES = _names(
    "log.file.path",
    "log.file.name",
    "file.path",
    "file",
    "path",
    "filename",
    "filepath",
    "filePath",
)
_CONTAINERS = _names(
    "container.name",
    "kubernetes.container_name",
    "kubernetes.container.name",
    "k8s.container.name",
    "container_name",
    "container",
)
_HOSTS = _names("host.name", "host.hostname", "hostname", "host", "service.instance.id")
_ORIGINS = (_PODS, _FILES, _CONTAINERS, _HOSTS)
_JSON = json.JSONEncoder(ensure_ascii=False, default=bytes.decode)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """``text``: as the process wrote it. ``stamp`` distinguishes equal texts. ``is_failure``: of
    Flink's reports.
    """

    process: str
    text: str
    stamp: str = ""
    is_failure: bool = False


def origin_of(fields: Mapping[str, Any]) -> dict[str, str]:
    origin = {
        name.full: _find(fields, name)
        for names in _ORIGINS
        if names.are_in(fields)
        for name in names.names
    }
    return {
        name: value[-MAX_ORIGIN_CHARS:] for name, value in origin.items() if isinstance(value, str)
    }


@lru_cache(maxsize=1_000)
def process_at(origin: str, host: str | None) -> str:
    """A valid file name. If ``host`` is not None (perhaps ""), ``origin`` is the path of a file."""
    if host is None:
        return plain_name(origin)
    process = process_of(origin)
    return plain_name(f"{host}-{process}" if host and host not in process else process)


class Processes:
    def __init__(self) -> None:
        self._names: dict[tuple[str, str | None], str] = {}
        self._origins = Count(MAX_ORIGINS, "pods, files, containers and hosts that lines are from")

    def __call__(self, origin: str, host: str | None) -> str:
        name = self._names.get((origin, host))
        if name is None:
            self._origins.add()
            name = self._names[origin, host] = process_at(origin, host)
        return name


def entry_of(
    record: Mapping[str, Any],
    about: Mapping[str, Any] | None = None,
    *,
    written: str | None = None,
    process_at: Callable[[str, str | None], str] = process_at,
) -> Entry | None:
    """``about``: fields of several records (labels, resource attributes). ``written``: the record's
    JSON.
    """
    process = _process({**about, **record} if about else record, process_at)
    stamp = _stamp(record)
    if _has_logger(record):
        try:
            # In JSON, line ends are only between values.
            line = _JSON.encode(record) if written is None else re.sub(r"[\r\n]", " ", written)
            return Entry(process, line[:MAX_LINE_CHARACTERS], stamp)
        except RecursionError:
            return None
    text = _first(record, _TEXTS)
    return (
        None if text is None else Entry(process, text.rstrip("\r\n")[:MAX_LINE_CHARACTERS], stamp)
    )


def excerpt(value: Any) -> str:
    return ascii(_JSON.encode(_outline(value, OUTLINE_DEPTH))[:SHOWN_CHARS])


def _outline(value: Any, depth: int) -> Any:
    match value:
        case str() | bytes():
            return value[:SHOWN_CHARS]
        case dict():
            pairs = islice(value.items(), MAX_PARTS_SHOWN if depth else 0)
            return {key[:SHOWN_CHARS]: _outline(inner, depth - 1) for key, inner in pairs}
        case list():
            parts = islice(value, MAX_PARTS_SHOWN if depth else 0)
            return [_outline(inner, depth - 1) for inner in parts]
    return value


def _has_logger(record: Mapping[str, Any]) -> bool:
    return _LOGGERS.are_in(record) and any(
        _find(record, name) is not None for name in _LOGGERS.names
    )


def _stamp(record: Mapping[str, Any]) -> str:
    for name in _TIMES:
        if (stamp := record.get(name)) is not None:
            if isinstance(stamp, dict):
                parts = islice(stamp.items(), MAX_PARTS_OF_A_TIME)
                stamp = {part: value for part, value in parts if not isinstance(value, dict | list)}
            return "" if isinstance(stamp, list) else repr(stamp)
    return ""


def _process(fields: Mapping[str, Any], process_at: Callable[[str, str | None], str]) -> str:
    for names in _ORIGINS:
        if process := _first(fields, names):
            host = (_first(fields, _HOSTS) or "")[:MAX_ORIGIN_CHARS] if names is _FILES else None
            return process_at(process[-MAX_ORIGIN_CHARS:], host)
    return UNNAMED


def plain_name(text: str) -> str:
    return (
        _NOT_PLAIN.sub("_", text).removesuffix(".log")[-MAX_PROCESS_CHARACTERS:].strip("._-")
        or UNNAMED
    )


def _first(fields: Mapping[str, Any], names: _Names) -> str | None:
    for name in names.names if names.are_in(fields) else ():
        value = _find(fields, name)
        if isinstance(value, str) and value and not value.isspace():
            return value
    return None


def _find(record: Mapping[str, Any], name: _Name) -> Any:
    full, flat, head, rest = name
    if full in record:
        return record[full]
    if rest is None:
        return None
    if flat in record:
        return record[flat]
    inner = record.get(head)
    return _find(inner, rest) if isinstance(inner, dict) else None
