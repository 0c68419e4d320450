"""``/jobs/:id/exceptions``: the history (1.13+), or the legacy list."""

import re
from dataclasses import replace
from typing import Any

from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.payloads.vertices import host_and_port, taskmanager_id
from ingest.records import JobException

_GLOBAL_FAILURE = "(global failure)"
_CLASS_OF_TRACE = re.compile(r"[\w.$]{1,500}")


def entries(body: Any) -> list[tuple[str, Any]]:
    """Root exceptions, newest first. From 1.13 on, ``exceptionHistory`` has all of them; the legacy
    list, which exists until 1.20, repeats some.
    """
    payload = Fields(body)
    history = payload.object("exceptionHistory")
    return (history.items("entries") if history else []) or _legacy_entries(payload)


def _legacy_entries(payload: Fields) -> list[tuple[str, Any]]:
    items = payload.items("all-exceptions")
    root = payload.text("root-exception")
    if root and not any(
        isinstance(entry, dict) and entry.get("exception") == root for _, entry in items
    ):
        items.append(("root-exception", {"exception": root, "timestamp": payload.raw("timestamp")}))
    return items


def exceptions(entry: Any, job_id: str, place: str = "") -> tuple[JobException, ...]:
    fields = Fields(entry, place)
    root = _exception(fields, job_id)
    concurrent = [
        _exception(entry_fields, job_id) for entry_fields in fields.objects("concurrentExceptions")
    ]
    return (root, *(replace(exception, is_root=False) for exception in concurrent))


def _exception(fields: Fields, job_id: str) -> JobException:
    stacktrace = fields.trace("stacktrace", "exception")
    task = fields.text("taskName", "task")
    return JobException(
        job_id=job_id,
        ts=fields.required_instant("timestamp"),
        task=None if task == _GLOBAL_FAILURE else task,
        exception_name=fields.text("exceptionName") or _class_of(stacktrace),
        stacktrace=stacktrace,
        endpoint=host_and_port(fields.text("endpoint") or fields.text("location")),
        taskmanager_id=taskmanager_id(fields, "taskManagerId"),
    )


def _class_of(stacktrace: str | None) -> str | None:
    match = _CLASS_OF_TRACE.match(stacktrace or "")
    return match.group() if match else None
