"""What a placement is called and what it comes to, in words."""

from dataclasses import dataclass

from ingest.messages import message
from webapp.placement.job_placement import BOTH, CONTENT, COUNT, DEFAULT, NOW, JobPlacement

LABELS = {
    NOW: message("Observed"),
    DEFAULT: message("Flink's default"),
    COUNT: message("Fewest tasks a slot"),
    CONTENT: message("Equal slots apart"),
    BOTH: message("Both rules"),
}
MEANINGS = {
    NOW: message("as sampled"),
    DEFAULT: message("slots filled by subtask index, TaskManagers one after the other; Flink's own order is random"),
    COUNT: message("a task goes beside what feeds it, else to the slot with the fewest tasks"),
    CONTENT: message("slots that hold the same vertices go to different TaskManagers"),
    BOTH: message("what taskmanager.load-balance.mode TASKS of Flink 2.2 aims at"),
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
            message(
                "{short:number} of {taskmanagers:number} TaskManagers have fewer network "
                "buffers than the tasks on them need at least: {taskmanager_id:name} lacks "
                "{short_by:name}. Tasks there fail with “Insufficient number of network "
                "buffers”.",
                short=len(short),
                taskmanagers=len(found.taskmanagers),
                taskmanager_id=short[0].taskmanager_id,
                short_by=f"{short[0].short_by:,}",
            ),
        )
    if now is None or now.max_over_mean is None or both is None:
        return Verdict("unknown", "?", message("How even its tasks are spread now is not known; below is what its plan alone allows."))
    ratio = now.max_over_mean
    if len(now.tasks) < 2:
        return Verdict("ok", "●", message("All tasks run on one TaskManager: there is nothing to spread."))
    if ratio <= EVEN:
        return Verdict(
            "ok",
            "●",
            message(
                "Even: the fullest TaskManager has {tasks:name} tasks, {ratio:name} times the mean.",
                tasks=f"{now.tasks[0]:,}",
                ratio=f"{ratio:.2f}",
            ),
        )
    better = both.max_over_mean is not None and both.max_over_mean * EVEN < ratio
    rest = (
        message("Both rules would bring it to {max_over_mean:name}.", max_over_mean=f"{both.max_over_mean:.2f}")
        if better
        else message("Other rules would not make it more even.")
    )
    return Verdict(
        "warn" if better else "ok",
        "◆" if better else "●",
        message(
            "The fullest TaskManager has {tasks:name} of {tasks_2:name} tasks, {ratio:name} times the mean. {rest:text}",
            tasks=f"{now.tasks[0]:,}",
            tasks_2=f"{found.tasks:,}",
            ratio=f"{ratio:.2f}",
            rest=rest,
        ),
    )
