"""What kinds of restores are called, and what they come to."""

from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.recovery.failover import Failover
from webapp.recovery.job_restores import JobRestores
from webapp.recovery.observed_restores import CHECKPOINT, LOCAL, SAVEPOINT
from webapp.recovery.regional_checkpoints import LEAST_CHECKPOINTS

LABELS = {CHECKPOINT: "Newest checkpoint", LOCAL: "Newest checkpoint, local recovery", SAVEPOINT: "Newest savepoint"}
MEANINGS = {
    CHECKPOINT: "all tasks read their files from the storage",
    LOCAL: "no TaskManager was lost: tasks read the copies on their own disks, nothing from the storage",
    SAVEPOINT: "all state is read; of a canonical one every entry is written into the state backend again",
}


def summary(found: JobRestores) -> str:
    """One sentence."""
    newest = next((one for one in found.choices if one.kind == CHECKPOINT), None)
    if newest is None:
        return "No completed checkpoint is known: a restart begins without state."
    of = f"checkpoint {newest.checkpoint_id}" + (f" of {bytes_text(newest.state_bytes)}" if newest.state_bytes is not None else "")
    if newest.estimate is None:
        return f"How long a restore from {of} takes is not known: none of this job was observed with its size."
    least, expected, most = map(duration_text, (newest.estimate.least_ms, newest.estimate.expected_ms, newest.estimate.most_ms))
    return f"A restore from {of} would take about {expected} ({least} to {most}), by {newest.estimate.observations} that were observed."


def regional_summary(found: Failover) -> str:
    """What regional checkpoints would bring the job as large as it is, and how often its tasks fail theirs."""
    of = found.checkpoints
    if of.task_success is None:
        seen = f"{count_text(of.completed + of.failed)} of the last days were seen to their end, of at least {LEAST_CHECKPOINTS}"
        return f"How often its tasks fail a checkpoint is not known: {seen}."
    now = next(one for one in of.curve if one.is_now)
    taken, part = of.completed + of.failed, "each task completed its part in"
    if of.at_least is not None:
        return f"None of its {count_text(taken)} checkpoints failed: {part} {rate_text(of.at_least)} or more (95 % confidence)."
    rate = f"{count_text(of.failed)} of its {count_text(taken)} checkpoints failed, as if {part} {rate_text(of.task_success)} of them."
    if now.own is None or now.regions == 1:
        return f"{rate} All its tasks are one region: a regional checkpoint is lost with any of them, as a full one is."
    shares = f"{percent_text(now.own.by_region)} would complete instead of {percent_text(now.own.full)}"
    return f"{rate} By region {shares}."


def rate_text(rate: float) -> str:
    """With as many digits as tell it from 1."""
    return f"{rate * 100:.6g} %"
