"""What kinds of restores are called, and what they come to."""

from ingest.messages import message
from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.analyses.recovery.failover import Failover
from webapp.analyses.recovery.job_restores import JobRestores
from webapp.analyses.recovery.observed_restores import CHECKPOINT, LOCAL, SAVEPOINT
from webapp.analyses.recovery.regional_checkpoints import LEAST_CHECKPOINTS

LABELS = {
    CHECKPOINT: message("Newest checkpoint"),
    LOCAL: message("Newest checkpoint, local recovery"),
    SAVEPOINT: message("Newest savepoint"),
}
MEANINGS = {
    CHECKPOINT: message("all tasks read their files from the storage"),
    LOCAL: message("no TaskManager was lost: tasks read the copies on their own disks, nothing from the storage"),
    SAVEPOINT: message("all state is read; of a canonical one every entry is written into the state backend again"),
}


def summary(found: JobRestores) -> str:
    """One sentence."""
    newest = next((one for one in found.choices if one.kind == CHECKPOINT), None)
    if newest is None:
        return message("No completed checkpoint is known: a restart begins without state.")
    of = (
        message("checkpoint {checkpoint_id:name}", checkpoint_id=str(newest.checkpoint_id))
        if newest.state_bytes is None
        else message(
            "checkpoint {checkpoint_id:name} of {size:name}", checkpoint_id=str(newest.checkpoint_id), size=bytes_text(newest.state_bytes)
        )
    )
    if newest.estimate is None:
        return message("How long a restore from {of:text} takes is not known: none of this job was observed with its size.", of=of)
    least, expected, most = map(duration_text, (newest.estimate.least_ms, newest.estimate.expected_ms, newest.estimate.most_ms))
    return message(
        "A restore from {of:text} would take about {expected:name} ({least:name} to "
        "{most:name}), by {observations:number} that were observed.",
        of=of,
        expected=expected,
        least=least,
        most=most,
        observations=newest.estimate.observations,
    )


def regional_summary(found: Failover) -> str:
    """What regional checkpoints would bring the job as large as it is, and how often its tasks fail theirs."""
    of = found.checkpoints
    if of.task_success is None:
        seen = message(
            "{failed:name} of the last days were seen to their end, of at least {least_checkpoints:number}",
            failed=count_text(of.completed + of.failed),
            least_checkpoints=LEAST_CHECKPOINTS,
        )
        return message("How often its tasks fail a checkpoint is not known: {seen:text}.", seen=seen)
    now = next(one for one in of.curve if one.is_now)
    taken, part = of.completed + of.failed, message("each task completed its part in")
    if of.at_least is not None:
        return message(
            "None of its {taken:name} checkpoints failed: {part:name} {at_least:name} or more (95 % confidence).",
            taken=count_text(taken),
            part=part,
            at_least=rate_text(of.at_least),
        )
    rate = message(
        "{failed:name} of its {taken:name} checkpoints failed, as if {part:name} {task_success:name} of them.",
        failed=count_text(of.failed),
        taken=count_text(taken),
        part=part,
        task_success=rate_text(of.task_success),
    )
    if now.own is None or now.regions == 1:
        return message(
            "{rate:text} All its tasks are one region: a regional checkpoint is lost with any of them, as a full one is.", rate=rate
        )
    shares = message(
        "{by_region:name} would complete instead of {full:name}", by_region=percent_text(now.own.by_region), full=percent_text(now.own.full)
    )
    return message("{rate:text} By region {shares:text}.", rate=rate, shares=shares)


def rate_text(rate: float) -> str:
    """With as many digits as tell it from 1."""
    return f"{rate * 100:.6g} %"
