"""What a restore of a job would take now, by those that were observed, and what its state makes it
read.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from django.urls import reverse

from ingest.messages import join_messages, message
from webapp.analyses.document import (
    Advice,
    Asked,
    Block,
    Column,
    Document,
    Link,
    NotKnown,
    Table,
    Tone,
    Verdict,
)
from webapp.analyses.recovery.job_restores import Choice, JobRestores, job_restores
from webapp.analyses.recovery.observed_restores import CHECKPOINT, LOCAL, SAVEPOINT
from webapp.analyses.recovery.operator_states import OperatorState
from webapp.analyses.registry import analysis
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import bytes_text, duration_text

SHOWN = 20
LABELS = {
    CHECKPOINT: message("Newest checkpoint"),
    LOCAL: message("Newest checkpoint, local recovery"),
    SAVEPOINT: message("Newest savepoint"),
}
MEANINGS = {
    CHECKPOINT: message("all tasks read their files from the storage"),
    LOCAL: message(
        "no TaskManager was lost: tasks read the copies on their own disks, nothing from the "
        "storage"
    ),
    SAVEPOINT: message(
        "all state is read; of a canonical one every entry is written into the state backend again"
    ),
}
KINDS = {
    CHECKPOINT: message("checkpoint"),
    LOCAL: message("local state"),
    SAVEPOINT: message("savepoint"),
}


@analysis(
    "recovery",
    title=message("Recovery"),
    summary=message(
        "how long its restores took, what one would take now, and what its state makes it read"
    ),
    tab="checkpoints",
    in_report=True,
)
def recovery(job: JobCurrent, asked: Asked) -> Document:
    found = job_restores(job, asked.until)
    unknown = tuple(NotKnown(reason) for reason in found.unknown)
    return Document(_verdict(found), (*unknown, *_blocks(found)))


def _blocks(found: JobRestores) -> Iterator[Block]:
    yield _choices(found)
    if found.local_recovery is False:
        off = message(
            "Local recovery is off; {setting:name} switches it on. With it only tasks of a lost "
            "TaskManager read from the storage.",
            setting=found.local_setting,
        )
        yield Advice((off,))
    yield _observed(found)
    if found.unions:
        yield _unions(found)
    if found.operator_states:
        yield _operator_states(found)


def _verdict(found: JobRestores) -> Verdict:
    grown = next((one for one in found.operator_states if one.restores), None)
    if grown is None:
        newest = _newest(found)
        is_known = newest is not None and newest.estimate is not None
        return Verdict("ok" if is_known else "unknown", _sentence(found))
    tone: Tone = "warn"
    multiplied = message(
        "Restores multiplied the union state of {operator:name} by its subtasks, {restores:count} "
        "times at least.",
        operator=_name(grown),
        restores=grown.restores,
    )
    return Verdict(tone, join_messages((_sentence(found), multiplied), " "))


def _newest(found: JobRestores) -> Choice | None:
    return next((one for one in found.choices if one.kind == CHECKPOINT), None)


def _sentence(found: JobRestores) -> str:
    newest = _newest(found)
    if newest is None:
        return message("No completed checkpoint is known: a restart begins without state.")
    number = str(newest.checkpoint_id)
    of = (
        message("checkpoint {checkpoint_id:name}", checkpoint_id=number)
        if newest.state_bytes is None
        else message(
            "checkpoint {checkpoint_id:name} of {size:name}",
            checkpoint_id=number,
            size=bytes_text(newest.state_bytes),
        )
    )
    if newest.estimate is None:
        return message(
            "How long a restore from {of:text} takes is not known: none of this job was observed "
            "with its size.",
            of=of,
        )
    estimate = newest.estimate
    least, expected, most = map(
        duration_text, (estimate.least_ms, estimate.expected_ms, estimate.most_ms)
    )
    return message(
        "A restore from {of:text} would take about {expected:name} ({least:name} to "
        "{most:name}), by {observations:number} that were observed.",
        of=of,
        expected=expected,
        least=least,
        most=most,
        observations=estimate.observations,
    )


def _choices(found: JobRestores) -> Table:
    def number(one: Choice) -> Link | int | None:
        if not one.path:
            return one.checkpoint_id
        return Link(
            str(one.checkpoint_id), f"{reverse('storage-xray')}?{urlencode({'path': one.path})}"
        )

    return Table(
        "choices",
        message("A restore now"),
        (
            Column("from", message("From")),
            Column("checkpoint_id", message("Checkpoint"), "checkpoint"),
            Column("at", message("Triggered"), "instant"),
            Column("expected_ms", message("Expected"), "ms"),
            Column("least_ms", message("At least"), "ms"),
            Column("most_ms", message("At most"), "ms"),
            Column("observations", message("Observed"), "count"),
            Column("state_bytes", message("State"), "bytes"),
            Column("files", message("Files"), "count"),
            Column("file_bytes", message("Read from storage"), "bytes"),
            Column(
                "largest_bytes",
                message("Largest subtask"),
                "bytes",
                message("of the subtask with most state, which all others wait for"),
            ),
            Column("meaning", message("Meaning")),
        ),
        tuple(
            (
                LABELS[one.kind],
                number(one),
                one.at,
                one.estimate.expected_ms if one.estimate else None,
                one.estimate.least_ms if one.estimate else None,
                one.estimate.most_ms if one.estimate else None,
                one.estimate.observations if one.estimate else 0,
                one.state_bytes,
                one.files,
                one.file_bytes,
                one.largest_bytes,
                MEANINGS[one.kind],
            )
            for one in found.choices
        ),
        subtitle=message("by bytes and files, and by the restores that were observed"),
        note=message(
            "Expected: the median of the observed restores of that kind, longer in proportion "
            "where "
            "there is more state now. Range: what a fixed time and a time by bytes can come to."
        ),
        empty=message("No completed checkpoint and no savepoint is known."),
    )


def _observed(found: JobRestores) -> Table:
    return Table(
        "observed",
        message("Observed restores"),
        (
            Column("at", message("Outage"), "instant"),
            Column("kind", message("From")),
            Column("checkpoint_id", message("Checkpoint"), "checkpoint"),
            Column("state_bytes", message("State"), "bytes"),
            Column("restore_ms", message("Restore"), "ms"),
            Column("downtime_ms", message("Down in all"), "ms"),
            Column("lost_taskmanagers", message("TaskManagers lost"), "count"),
        ),
        tuple(
            (
                one.at,
                KINDS[one.kind],
                one.checkpoint_id,
                one.state_bytes,
                one.restore_ms,
                one.downtime_ms,
                one.lost_taskmanagers,
            )
            for one in found.observed[:SHOWN]
        ),
        subtitle=message("of 30 days, newest first"),
        empty=message("Give the logs of the JobManager: they have the phases of a restart."),
        total=len(found.observed),
    )


def _unions(found: JobRestores) -> Table:
    return Table(
        "unions",
        message("Union state"),
        (
            Column("operator", message("Operator")),
            Column("states", message("States")),
            Column("parallelism", message("Parallelism"), "count"),
            Column("files", message("Files"), "count"),
            Column("inline", message("Within the _metadata"), "count"),
            Column(
                "reads",
                message("Reads in all"),
                "count",
                message("parallelism times files: opens that the storage has to serve"),
            ),
            Column("read_bytes", message("Bytes in all, at most"), "bytes"),
        ),
        tuple(
            (
                one.operator or one.operator_id,
                ", ".join(one.states),
                one.parallelism,
                one.files,
                one.inline,
                one.reads,
                one.read_bytes,
            )
            for one in found.unions
        ),
        subtitle=message(
            "every subtask reads the state of all, of checkpoint {unions_of:number}",
            unions_of=found.unions_of or 0,
        ),
        note=message(
            "Handles within the _metadata are no files: they are sent with the deployment of every "
            "subtask."
        ),
    )


def _operator_states(found: JobRestores) -> Table:
    growth = message(
        "against the oldest checkpoint with as many subtasks: elements or bytes, whichever grew "
        "more"
    )
    handed_out = message("union elements times subtasks: what one restore gives to all of them")
    return Table(
        "operator-state",
        message("Operator state"),
        (
            Column("operator", message("Operator")),
            Column("states", message("States")),
            Column("subtasks", message("Subtasks"), "count"),
            Column("elements", message("Elements"), "count"),
            Column("operator_bytes", message("Operator state"), "bytes"),
            Column("keyed_bytes", message("Keyed state"), "bytes", message("of the same operator")),
            Column("growth", message("Growth"), "factor", growth),
            Column("since", message("Since checkpoint"), "checkpoint"),
            Column("restores", message("By restores"), "count"),
            Column("handed_out", message("Handed out by a restore"), "count", handed_out),
        ),
        tuple(
            (
                _name(one),
                ", ".join(one.states[:3]),
                one.subtasks,
                one.elements,
                one.operator_bytes,
                one.keyed_bytes,
                one.ratio,
                one.since,
                one.restores,
                one.handed_out,
            )
            for one in found.operator_states
        ),
        subtitle=message("lists, union lists and broadcast state, as audits read them"),
        note=message(
            "Of retained checkpoints and savepoints of the job, and of those that it was restored "
            "from, in the audits of seven days."
        ),
    )


def _name(one: OperatorState) -> str:
    return one.name or one.operator_id
