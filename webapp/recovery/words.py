"""What kinds of restores are called, and what they come to."""

from webapp.lib.quantities import bytes_text, duration_text
from webapp.recovery.job_restores import JobRestores
from webapp.recovery.observed_restores import CHECKPOINT, LOCAL, SAVEPOINT

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
