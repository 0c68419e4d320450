from collections.abc import Iterator

from django.urls import reverse

from ingest.messages import join_messages, message
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Inputs,
    Link,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.recovery.job_restores import (
    CHECKPOINT,
    LOCAL,
    SAVEPOINT,
    Choice,
    JobRestores,
    job_restores,
)
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import bytes_text, duration_text

MOST_SHOWN = 20
LABELS = {
    CHECKPOINT: message("Newest checkpoint"),
    LOCAL: message("Newest checkpoint, local recovery"),
    SAVEPOINT: message("Newest savepoint"),
}
KINDS = {
    CHECKPOINT: message("checkpoint"),
    LOCAL: message("local state"),
    SAVEPOINT: message("savepoint"),
}


@analysis(
    "recovery",
    title="Recovery",
    summary="how long its restores took, what one would take now, and what its state makes it read",
    tab="checkpoints",
    in_report=True,
)
def recovery(job: JobCurrent, inputs: Inputs) -> Document:
    restores = job_restores(job, inputs.until)
    unknown = tuple(NotKnown(reason) for reason in restores.unknown)
    return Document(_verdict(restores), (*unknown, *_blocks(restores)))


def _blocks(restores: JobRestores) -> Iterator[Block]:
    yield _choices(restores)
    if restores.local_recovery is False:
        line = message(
            "Local recovery is off; {setting:name} switches it on. With it only tasks of a lost "
            "TaskManager read from the storage.",
            setting=restores.local_setting,
        )
        yield Advice((line,))
    yield _observed_table(restores)
    if restores.unions:
        yield _unions(restores)
    if restores.operator_states:
        yield _operator_states(restores)


def _verdict(restores: JobRestores) -> Verdict:
    newest = _newest(restores)
    sentence = _sentence(newest)
    grown_state = next((state for state in restores.operator_states if state.restores), None)
    if grown_state is None:
        return Verdict("ok" if newest and newest.estimate else "unknown", sentence)
    growth = message(
        "Restores multiplied the union state of {operator:name} by its subtasks, {restores:count} "
        "times at least.",
        operator=grown_state.name,
        restores=grown_state.restores,
    )
    return Verdict("warn", join_messages((sentence, growth), " "))


def _newest(restores: JobRestores) -> Choice | None:
    return next((choice for choice in restores.choices if choice.kind == CHECKPOINT), None)


def _sentence(newest: Choice | None) -> str:
    if newest is None:
        return message("No completed checkpoint is known: a restart begins without state.")
    number = str(newest.checkpoint_id)
    snapshot = (
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
            of=snapshot,
        )
    estimate = newest.estimate
    least, expected, most = map(
        duration_text, (estimate.least_ms, estimate.expected_ms, estimate.most_ms)
    )
    return message(
        "A restore from {of:text} would take about {expected:name} ({least:name} to "
        "{most:name}), by {observations:number} that were observed.",
        of=snapshot,
        expected=expected,
        least=least,
        most=most,
        observations=estimate.observations,
    )


def _choices(restores: JobRestores) -> Table:
    def number(choice: Choice) -> Link | int | None:
        if not choice.path:
            return choice.checkpoint_id
        xray = reverse("storage-xray", query={"path": choice.path})
        return Link(str(choice.checkpoint_id), xray)

    return Table.of(
        restores.choices,
        "choices",
        "A restore now",
        (
            Column("from", "From", value=lambda choice: LABELS[choice.kind]),
            Column("checkpoint_id", "Checkpoint", "checkpoint", value=number),
            Column("at", "Triggered", "instant"),
            Column("expected_ms", "Expected", "ms", value="estimate.expected_ms"),
            Column("least_ms", "At least", "ms", value="estimate.least_ms"),
            Column("most_ms", "At most", "ms", value="estimate.most_ms"),
            Column("state_bytes", "State", "bytes"),
            Column("files", "Files", "count"),
            Column("file_bytes", "Read from storage", "bytes"),
            Column(
                "largest_bytes",
                "Largest subtask",
                "bytes",
                "of the subtask with most state, which all others wait for",
            ),
        ),
        subtitle="by bytes and files, and by the restores that were observed",
        note=(
            "Expected: the median of the observed restores of that kind, longer in proportion where "
            "there is more state now. Range: what a fixed time and a time by bytes can come to. "
            "Local recovery: no TaskManager was lost, tasks read the copies on their own disks."
        ),
        empty="No completed checkpoint and no savepoint is known.",
    )


def _observed_table(restores: JobRestores) -> Table:
    return Table.of(
        restores.observed,
        "observed",
        "Observed restores",
        (
            Column("at", "Began", "instant"),
            Column("kind", "From", value=lambda restore: KINDS[restore.kind]),
            Column("checkpoint_id", "Checkpoint", "checkpoint"),
            Column("state_bytes", "State", "bytes"),
            Column("restore_ms", "Restore", "ms"),
            Column("downtime_ms", "Down in all", "ms"),
            Column("lost_taskmanagers", "TaskManagers lost", "count"),
        ),
        most=MOST_SHOWN,
        subtitle="of 30 days, newest first",
        empty="No start from a snapshot was seen with its phases.",
    )


def _unions(restores: JobRestores) -> Table:
    return Table.of(
        restores.unions,
        "unions",
        "Union state",
        (
            Column("operator", "Operator"),
            Column("parallelism", "Parallelism", "count"),
            Column("files", "Files", "count"),
            Column(
                "reads",
                "Reads in all",
                "count",
                "parallelism times files: opens that the storage has to serve",
            ),
            Column("read_bytes", "Bytes in all, at most", "bytes"),
        ),
        subtitle=message(
            "every subtask reads the state of all, of checkpoint {unions_of:number}",
            unions_of=restores.unions_of or 0,
        ),
    )


def _operator_states(restores: JobRestores) -> Table:
    return Table.of(
        restores.operator_states,
        "operator-state",
        "Operator state",
        (
            Column("operator", "Operator", value="name"),
            Column(
                "states",
                "States",
                value=lambda state: ", ".join(name for name, _, _ in state.trend.states[:3]),
            ),
            Column("subtasks", "Subtasks", "count", value="trend.newest.subtasks"),
            Column("elements", "Elements", "count", value="trend.newest.elements"),
            Column("operator_bytes", "Size", "bytes", value="trend.newest.operator_bytes"),
            Column(
                "growth",
                "Growth",
                "factor",
                (
                    "against the oldest checkpoint with as many subtasks: elements or bytes, whichever grew "
                    "more"
                ),
                "growth.ratio",
            ),
            Column("restores", "By restores", "count"),
            Column(
                "handed_out",
                "Handed out by a restore",
                "count",
                "union elements times subtasks: what one restore gives to all of them",
            ),
        ),
        subtitle="lists, union lists and broadcast state, as audits read them",
        note=(
            "Of retained checkpoints and savepoints of the job, and of those that it was restored "
            "from, in the audits of seven days."
        ),
    )
