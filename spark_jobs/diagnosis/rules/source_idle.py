from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.pressure import value
from spark_jobs.diagnosis.pressure_words import MOST_SUBTASKS, subtasks_text
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow, VertexWindow
from spark_jobs.diagnosis.source_lag import aligned_vertices

RULE = "source.idle"
LACKING = message(
    "how long any subtask of a source has had no record: Flink reports it from 1.14 on"
)
IDLE, MISSED = f"{RULE}.idle_ms", f"{RULE}.missed_records"
READS_WITHIN_MS = 60_000
"""A subtask with a record this recent is reading."""


@dataclass(frozen=True)
class IdleSubtasks:
    """Subtasks that read nothing. ``for_ms``: the longest time without a record; ``missed``:
    records that the slowest active subtask read in it. ``pending``: records not read, None if not
    reported.
    """

    subtasks: Sequence[int]
    for_ms: float
    missed: float
    pending: float | None


@rule(
    RULE,
    message("Source subtask without records"),
    message(
        "A subtask of a source that had records, or has some to read, has read none for minutes, "
        "while its other subtasks read on."
    ),
    fed_by="incidents/2.3.0/growing-lag",
    needs=("vertex_windows",),
    lacking=LACKING,
    thresholds=(
        Threshold(
            IDLE,
            300_000,
            "ms",
            60_000,
            7 * 86_400_000,
            message("Raise this where some partitions get records now and then only."),
        ),
        Threshold(
            MISSED,
            100,
            "records",
            1,
            1_000_000,
            message(
                "So many records that the slowest of the other subtasks read in the same time are no chance."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    sources = [vertex for vertex in window.vertex_windows if vertex.source_idle_ms]
    if not sources:
        raise NotJudged(LACKING)
    aligned_ids = aligned_vertices(window)
    for vertex in sources:
        if vertex.vertex_id not in aligned_ids and (idle := _find_idle(vertex, limits)):
            yield _finding(window, limits, vertex, idle)


def _find_idle(vertex: VertexWindow, limits: Limits) -> IdleSubtasks | None:
    rates = [
        rate
        for index, idle_ms in enumerate(vertex.source_idle_ms)
        if idle_ms is not None
        and idle_ms < READS_WITHIN_MS
        and (rate := value(vertex.records_out_per_s, index))
    ]
    if not rates:
        return None
    idle_subtasks = {
        index: idle_ms
        for index, idle_ms in enumerate(vertex.source_idle_ms)
        if idle_ms is not None
        and idle_ms >= limits[IDLE]
        and min(rates) * idle_ms / 1000 >= limits[MISSED]
        and _has_split(vertex, index)
    }
    if not idle_subtasks:
        return None
    pending = [
        records
        for index in idle_subtasks
        if (records := value(vertex.pending_records, index)) is not None
    ]
    longest_ms = max(idle_subtasks.values())
    return IdleSubtasks(
        tuple(idle_subtasks),
        longest_ms,
        min(rates) * longest_ms / 1000,
        sum(pending) if pending else None,
    )


def _has_split(vertex: VertexWindow, index: int) -> bool:
    """A subtask without a split has neither event time nor pending records."""
    return (
        bool(value(vertex.pending_records, index)) or value(vertex.emit_lag_ms, index) is not None
    )


def _finding(
    window: JobWindow, limits: Limits, vertex: VertexWindow, idle: IdleSubtasks
) -> Finding:
    name = window.brief_name(vertex.vertex_id)
    subtasks = subtasks_text(idle.subtasks, vertex.parallelism or len(vertex.source_idle_ms))
    pending = (
        (Evidence(message("records that it has to read"), idle.pending, "records"),)
        if idle.pending is not None
        else ()
    )
    return vertex_finding(
        window,
        vertex.vertex_id,
        RULE,
        "info" if idle.pending == 0 else "warning",
        "high" if idle.pending else "medium",
        title=message(
            "{which:opening} of {name:name} had no record for {for_ms:duration}, the others have "
            "some",
            which=subtasks,
            name=name,
            for_ms=idle.for_ms,
        ),
        cause=_cause(idle.pending),
        next_step=_next_step(idle.pending),
        evidence=(
            limits.evidence(message("without a record"), idle.for_ms, IDLE),
            limits.evidence(
                message("records of the slowest other subtask in the same time"),
                idle.missed,
                MISSED,
            ),
            *pending,
        ),
        data={"vertex_id": vertex.vertex_id, "subtasks": list(idle.subtasks[:MOST_SUBTASKS])},
    )


def _cause(pending: float | None) -> str:
    if pending:
        return message(
            "Its connector reports {pending:count} records that it has not read: the partition is "
            "assigned, and its reader does not get on.",
            pending=pending,
        )
    if pending == 0:
        return message(
            "Its connector reports that nothing is left to read: nobody writes to its partitions."
        )
    return message(
        "Either its partitions get no records, or its reader does not get on: its connector does "
        "not report how many records it has not read."
    )


def _next_step(pending: float | None) -> str:
    if pending:
        return message(
            "Look at its log and its threads: a fetcher that ended, a connection that hangs, a "
            "broker that does not answer, missing rights. Where nothing else helps, a restart "
            "assigns the partition again, and all sources read again what came after the last "
            "checkpoint."
        )
    return message(
        "Compare with the producers: are its partitions written to? If they may be silent, mark "
        "them idle (WatermarkStrategy.withIdleness), so that event time advances."
    )
