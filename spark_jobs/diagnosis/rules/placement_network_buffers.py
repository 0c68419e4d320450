"""Tasks that cannot start: their TaskManager has fewer network buffers than the tasks on it need.

The numbers are those of Flink's exception (NetworkBufferPool), the same text from 1.12 to 2.3.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.messages import bytes_text, list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.statistics import counts_of
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "placement.network_buffers"
FAILURES, CRITICAL, WINDOW = f"{RULE}.failures", f"{RULE}.critical_failures", f"{RULE}.window_s"
MOST_HOSTS = 5
_SHORTAGE = re.compile(
    r"Insufficient number of network buffers: required (\d{1,12}), but only (\d{1,12}) available"
    r"(?:\. The total number of network buffers is currently set to (\d{1,12}) of (\d{1,12}) bytes "
    r"each)?"
)


@dataclass(frozen=True, slots=True)
class Shortage:
    """One task that found too few buffers; ``total`` of ``segment_bytes`` are what its TaskManager
    has.
    """

    at_ms: int
    host: str | None
    required: int
    available: int
    total: int | None
    segment_bytes: int | None


@rule(
    RULE,
    message("Too few network buffers"),
    message(
        "Tasks failed at their start because their TaskManager has fewer network buffers than the "
        "tasks on it need."
    ),
    fed_by="incidents/2.3.0/few-buffers",
    hold_s=600,
    reads=(message("task_state FAILED"),),
    needs=("events", "failures"),
    thresholds=(
        Threshold(
            FAILURES,
            1,
            "count",
            1,
            1000,
            message(
                "One is enough: a task does not start with fewer, and the next attempt needs as "
                "many."
            ),
        ),
        Threshold(
            CRITICAL,
            3,
            "count",
            1,
            1000,
            message(
                "Flink places tasks again at each attempt: three that failed show that none fits."
            ),
        ),
        Threshold(
            WINDOW,
            600,
            "s",
            60,
            86_400,
            message(
                "Ten minutes: attempts that follow each other within this time belong together."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    since_ms = window.at_ms - int(limits[WINDOW] * 1000)
    shortages = [
        shortage for shortage in _shortages(window) if since_ms < shortage.at_ms <= window.at_ms
    ]
    if len(shortages) >= limits[FAILURES]:
        yield _finding(window, limits, shortages)


def _shortages(window: JobWindow) -> list[Shortage]:
    """Of exceptions as REST lists them, else of the log: both tell of the same failures."""
    reported = [(failure.at_ms, failure.host, failure.stacktrace) for failure in window.failures]
    logged = [(event.at_ms, event.host, event.detail) for event in window.events]
    for source in (reported, logged):
        shortages = [
            _shortage(at_ms, host, match)
            for at_ms, host, text in source
            if (match := _SHORTAGE.search(text or ""))
        ]
        if shortages:
            return sorted(shortages, key=lambda shortage: shortage.at_ms)
    return []


def _shortage(at_ms: int, host: str | None, match: re.Match[str]) -> Shortage:
    required, available, total, segment_bytes = (
        int(text) if text else None for text in match.groups()
    )
    return Shortage(at_ms, host, required or 0, available or 0, total, segment_bytes)


def _finding(window: JobWindow, limits: Limits, shortages: list[Shortage]) -> Finding:
    newest, stays_down = shortages[-1], len(shortages) >= limits[CRITICAL]
    hosts = list(counts_of(shortage.host for shortage in shortages if shortage.host))[:MOST_HOSTS]
    where = message(" on {hosts:name}", hosts=list_text(hosts)) if hosts else ""
    pool = message(" of {total:count}", total=newest.total) if newest.total else ""
    size = (
        f" ({bytes_text(newest.total * newest.segment_bytes)})"
        if newest.total and newest.segment_bytes
        else ""
    )
    evidence = [
        limits.compared(
            message("failures because buffers were missing"),
            len(shortages),
            "count",
            ">=",
            FAILURES,
            newest.at_ms,
        ),
        Evidence(
            message("buffers that the task required"), newest.required, "count", at_ms=newest.at_ms
        ),
        Evidence(
            message("buffers that were available"), newest.available, "count", at_ms=newest.at_ms
        ),
    ]
    if newest.total and newest.segment_bytes:
        evidence.append(
            Evidence(
                message("buffers of the TaskManager"), newest.total, "count", at_ms=newest.at_ms
            )
        )
        evidence.append(
            Evidence(
                message("its network memory"),
                newest.total * newest.segment_bytes,
                "bytes",
                at_ms=newest.at_ms,
            )
        )
    return job_finding(
        window,
        RULE,
        "critical" if stays_down else "warning",
        "high",
        title=message(
            "{found:message} found too few network buffers{where:message}",
            found=plural(len(shortages), "{count:count} task", "{count:count} tasks"),
            where=where,
        ),
        cause=(
            message(
                "A task required {required:count} network buffers and "
                "{available:count}{pool:message}{size:name} were available: the tasks that "
                "Flink placed on that TaskManager need more than it has.",
                required=newest.required,
                available=newest.available,
                pool=pool,
                size=size,
            )
        ),
        next_step=(
            message(
                "Raise taskmanager.memory.network.max (with network.fraction or network.min), or "
                "let fewer tasks share a TaskManager. The job's placement page shows how many "
                "buffers its plan needs on each TaskManager, and what an even placement would need."
            )
        ),
        seen_at_ms=newest.at_ms,
        evidence=evidence,
        data={
            "hosts": hosts,
            "required": newest.required,
            "available": newest.available,
            "total": newest.total,
        },
    )
