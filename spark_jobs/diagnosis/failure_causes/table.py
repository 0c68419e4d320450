"""Why a job, or a process that it ran on, failed: an open table of declared causes. The first entry
whose expression is found decides: from the particular to the general, families in the order of
``CAUSES``. To add a cause: copy the nearest entry, give it its source, and an example in
``tests/diagnosis/failure_texts.py``.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from spark_jobs.diagnosis.failure_causes import (
    memory,
    processes,
    programs,
    resources,
    restores,
    sinks,
    sources,
    stores,
    tables,
)
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES: tuple[FailureCause, ...] = (
    *memory.CAUSES,
    *processes.CAUSES,
    *resources.CAUSES,
    *restores.PARTICULAR,
    *tables.CAUSES,
    *sources.CAUSES,
    *sinks.CAUSES,
    *stores.CAUSES,
    *programs.CAUSES,
    *restores.GENERAL,
)
READ_CHARS = 4_000
"""Of a text; traces that rules get are no longer."""
Search = Callable[[str], re.Match[str] | None]
UNKNOWN = "UNKNOWN"
"""Stands for the code of what no entry reads."""


@lru_cache(maxsize=2_000)
def cause_of(text: str | None) -> FailureCause | None:
    read = (text or "")[:READ_CHARS]
    return next((cause for cause, search in _searches() if search(read)), None)


def cause_of_failure(name: str, stacktrace: str | None) -> FailureCause | None:
    return cause_of(f"{name}\n{stacktrace}" if stacktrace else name)


def code_of(cause: FailureCause | None) -> str:
    return cause.code if cause else UNKNOWN


def of_code(code: str) -> FailureCause:
    return next(cause for cause in CAUSES if cause.code == code)


@cache
def _searches() -> tuple[tuple[FailureCause, Search], ...]:
    return tuple((cause, re.compile(cause.regex).search) for cause in CAUSES)
