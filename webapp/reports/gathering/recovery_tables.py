"""What a failure of one job costs: restores, single tasks, regional checkpoints, union state and how operator state grew; a table each."""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import UNKNOWN, bytes_text, count_text, duration_text, times_text
from webapp.recovery import words as of_recovery
from webapp.analyses.recovery.failover import Failover
from webapp.analyses.recovery.job_restores import JobRestores, job_restores
from webapp.reports import texts
from webapp.reports.document import Table

MOST_ROWS = 10


def tables(job: JobCurrent, at: datetime) -> Iterator[Table]:
    """Those that have something to say."""
    found = job_restores(job, at)
    if found.choices:
        yield _restores(found)
    if found.failover and found.failover.phases.alone_ms is not None:
        yield _single_tasks(found.failover)
    if found.unions:
        yield _unions(found)
    if found.operator_states:
        yield _operator_states(found)


def _restores(found: JobRestores) -> Table:
    rows = [
        (
            f"{of_recovery.LABELS[one.kind]}, {one.checkpoint_id}",
            duration_text(one.estimate.expected_ms) if one.estimate else message("not known"),
            message(
                "{least_ms:name} to {most_ms:name}",
                least_ms=duration_text(one.estimate.least_ms),
                most_ms=duration_text(one.estimate.most_ms),
            )
            if one.estimate
            else UNKNOWN,
            bytes_text(one.state_bytes),
            count_text(one.files),
        )
        for one in found.choices
    ]
    regions = found.failover
    restarts = regions and message(
        " A failed subtask restarts {largest:count} of {tasks:count} tasks at most.", largest=regions.largest, tasks=regions.tasks
    )
    regional = regions and message(
        " Regional checkpoints: {regional_summary:message}", regional_summary=of_recovery.regional_summary(regions)
    )
    columns = (message("Restore from"), message("Expected"), message("Range"), message("State"), message("Files"))
    return Table(message("Recovery"), columns, tuple(rows), (1, 3, 4), of_recovery.summary(found) + (restarts or "") + (regional or ""))


def _single_tasks(regions: Failover) -> Table:
    """Flink itself does not offer it."""
    rows = [
        (texts.name(one.name), UNKNOWN if one.alone_records is None else count_text(round(one.alone_records)))
        for one in regions.vertices[:MOST_ROWS]
    ]
    note = message(
        "Away for about {alone_ms:name}, where the whole job is down for "
        "{downtime_ms:name} and loses no record. Flink itself does not offer it.",
        alone_ms=duration_text(regions.phases.alone_ms),
        downtime_ms=duration_text(regions.phases.downtime_ms),
    )
    return Table(message("What if one task came back alone"), (message("A subtask of"), message("Records lost")), tuple(rows), (1,), note)


def _unions(found: JobRestores) -> Table:
    rows = [
        (
            texts.name(one.operator or one.operator_id),
            count_text(one.parallelism),
            count_text(one.files),
            count_text(one.reads),
            duration_text(one.serial_ms),
            duration_text(one.parallel_ms),
        )
        for one in found.unions[:MOST_ROWS]
    ]
    columns = (
        message("Operator"),
        message("Parallelism"),
        message("Files"),
        message("Reads in all"),
        message("One by one"),
        message("16 at a time"),
    )
    note = message(
        "Every subtask reads the files of all, at {read_ms:number} ms a file; of checkpoint {unions_of:name}.",
        read_ms=found.read_ms,
        unions_of=str(found.unions_of),
    )
    return Table(message("Union state"), columns, tuple(rows), (1, 2, 3, 4, 5), note)


def _operator_states(found: JobRestores) -> Table:
    rows = [
        (
            texts.name(one.name or one.operator_id),
            count_text(one.newest.elements),
            bytes_text(one.newest.operator_bytes),
            times_text(one.ratio),
            count_text(one.handed_out),
        )
        for one in found.operator_states[:MOST_ROWS]
    ]
    columns = (message("Operator"), message("Elements"), message("Operator state"), message("Growth"), message("Handed out by a restore"))
    note = message("By what audits read of its checkpoints; growth against the oldest one with as many subtasks.")
    return Table(message("Operator state"), columns, tuple(rows), (1, 2, 3, 4), note)
