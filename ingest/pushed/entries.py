"""What a shipper pushes: one line of one process, or one record of it in JSON."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.flink_logs.names import process_of

UNNAMED = "pushed"
"""Process of a line whose shipper says nothing of where it is from."""

MAX_PROCESS_CHARACTERS = 200
MAX_LINE_CHARACTERS = 256 * 1024
"""As much as is kept of a record of a file."""

_LOGGERS = ("log.logger", "logger_name", "loggerName", "logger", "_logger", "LoggerName")
"""Who has one of these is a record of a JSON layout, not a line of text."""

_TEXTS = ("log", "message", "msg", "MESSAGE", "body", "line", "event.original", "short_message")
_TIMES = ("stamp", "@timestamp", "timestamp", "time", "date", "ts", "timeMillis", "instant")
_PODS = ("kubernetes.pod_name", "kubernetes.pod.name", "k8s.pod.name", "pod_name", "pod")
_FILES = ("log.file.path", "log.file.name", "file.path", "file", "path", "filename", "filepath", "filePath")
_CONTAINERS = (
    "container.name",
    "kubernetes.container_name",
    "kubernetes.container.name",
    "k8s.container.name",
    "container_name",
    "container",
)
_HOSTS = ("host.name", "host.hostname", "hostname", "host", "service.instance.id")
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """``text`` is what the process wrote, of one or several lines; ``stamp`` tells equal texts apart, as far as the shipper does."""

    process: str
    text: str
    stamp: str = ""


def entry_of(record: Mapping[str, Any], about: Mapping[str, Any] | None = None) -> Entry | None:
    """The entry of a record as shippers form them; ``about`` is what holds for several of them (labels, resource attributes).

    ``None`` where it holds no text.
    """
    process = _process({**(about or {}), **record})
    stamp = next((repr(record[name]) for name in _TIMES if record.get(name) is not None), "")
    if any(_found(record, name) is not None for name in _LOGGERS):
        return Entry(process, json.dumps(record, ensure_ascii=False)[:MAX_LINE_CHARACTERS], stamp)
    text = next((found for name in _TEXTS if isinstance(found := _found(record, name), str) and found.strip()), None)
    return None if text is None else Entry(process, text.rstrip("\r\n")[:MAX_LINE_CHARACTERS], stamp)


def _process(about: Mapping[str, Any]) -> str:
    """The pod; else the file that the line was read from, with its host where the name alone is common to all; else container or host."""
    for names in (_PODS, _FILES, _CONTAINERS, _HOSTS):
        if found := _first(about, names):
            if names is _FILES:
                host = _first(about, _HOSTS)
                found = process_of(found)
                found = f"{host}-{found}" if host and host not in found else found
            return plain_name(found)
    return UNNAMED


def plain_name(text: str) -> str:
    """As the name of a file may be."""
    return _PLAIN.sub("_", text).removesuffix(".log")[-MAX_PROCESS_CHARACTERS:].strip("._-") or UNNAMED


def _first(about: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((found for name in names if isinstance(found := _found(about, name), str) and found.strip()), None)


def _found(record: Mapping[str, Any], name: str) -> Any:
    """The value under a name with dots, written flat, with ``_`` instead (as Loki does) or nested."""
    if name in record:
        return record[name]
    head, dot, rest = name.partition(".")
    if dot and (flat := name.replace(".", "_")) in record:
        return record[flat]
    inner = record.get(head) if dot else None
    return _found(inner, rest) if isinstance(inner, Mapping) else None
