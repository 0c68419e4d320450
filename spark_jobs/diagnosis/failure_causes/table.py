"""Why a job or one of its processes failed, from the particular to the general: the first cause
whose expression is found decides. To add a cause, copy a similar entry, and add an example and its
source to ``tests/diagnosis/failure_texts.py``.
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
    table_formats,
)
from spark_jobs.diagnosis.failure_causes.cause import FailureCause

CAUSES: tuple[FailureCause, ...] = (
    *memory.CAUSES,
    *processes.CAUSES,
    *resources.CAUSES,
    *restores.PARTICULAR,
    *table_formats.CAUSES,
    *sources.CAUSES,
    *sinks.CAUSES,
    *stores.CAUSES,
    *programs.CAUSES,
    *restores.GENERAL,
)
READ_CHARS = 4_000
"""Only the start of a text is searched; traces in windows are no longer."""
Search = Callable[[str], re.Match[str] | None]
UNKNOWN = "UNKNOWN"


@lru_cache(maxsize=2_000)
def cause_of(text: str | None) -> FailureCause | None:
    start = (text or "")[:READ_CHARS]
    return next((cause for cause, search in _searches() if search(start)), None)


def cause_of_failure(name: str, stacktrace: str | None) -> FailureCause | None:
    return cause_of(f"{name}\n{stacktrace}" if stacktrace else name)


def code_of(cause: FailureCause | None) -> str:
    return cause.code if cause else UNKNOWN


def cause_by_code(code: str) -> FailureCause:
    return next(cause for cause in CAUSES if cause.code == code)


@cache
def _searches() -> tuple[tuple[FailureCause, Search], ...]:
    return tuple((cause, re.compile(cause.regex).search) for cause in CAUSES)
