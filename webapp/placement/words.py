"""What a placement is called and what it comes to, in words."""

from dataclasses import dataclass

from webapp.placement.job_placement import BOTH, CONTENT, COUNT, DEFAULT, NOW, JobPlacement

LABELS = {
    NOW: "Observed",
    DEFAULT: "Flink's default",
    COUNT: "Fewest tasks a slot",
    CONTENT: "Equal slots apart",
    BOTH: "Both rules",
}
MEANINGS = {
    NOW: "as sampled",
    DEFAULT: "slots filled by subtask index, TaskManagers one after the other; Flink's own order is random",
    COUNT: "a task goes beside what feeds it, else to the slot with the fewest tasks",
    CONTENT: "slots that hold the same vertices go to different TaskManagers",
    BOTH: "what taskmanager.load-balance.mode TASKS of Flink 2.2 aims at",
}
EVEN = 1.1
"""Largest over mean up to which a placement is called even; and by how much a simulation must be better to be worth a restart."""


@dataclass(frozen=True)
class Verdict:
    tone: str
    shape: str
    sentence: str


def verdict(found: JobPlacement) -> Verdict:
    now, both = found.outcome(NOW), found.outcome(BOTH)
    short = [one for one in found.taskmanagers if one.short_by]
    if short:
        return Verdict(
            "warn",
            "◆",
            f"{len(short)} of {len(found.taskmanagers)} TaskManagers have fewer network buffers than the tasks on them need at least: "
            f"{short[0].taskmanager_id} lacks {short[0].short_by:,}. Tasks there fail with “Insufficient number of network buffers”.",
        )
    if now is None or now.max_over_mean is None or both is None:
        return Verdict("unknown", "?", "How even its tasks are spread now is not known; below is what its plan alone allows.")
    ratio = now.max_over_mean
    if len(now.tasks) < 2:
        return Verdict("ok", "●", "All tasks run on one TaskManager: there is nothing to spread.")
    if ratio <= EVEN:
        return Verdict("ok", "●", f"Even: the fullest TaskManager has {now.tasks[0]:,} tasks, {ratio:.2f} times the mean.")
    better = both.max_over_mean is not None and both.max_over_mean * EVEN < ratio
    rest = f"Both rules would bring it to {both.max_over_mean:.2f}." if better else "Other rules would not make it more even."
    return Verdict(
        "warn" if better else "ok",
        "◆" if better else "●",
        f"The fullest TaskManager has {now.tasks[0]:,} of {found.tasks:,} tasks, {ratio:.2f} times the mean. {rest}",
    )
