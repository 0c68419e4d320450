"""What a placement is called and what it comes to, in words."""

from dataclasses import dataclass

from django.utils.translation import gettext

from webapp.lib.translations import gettext_lazy as _
from webapp.placement.job_placement import BOTH, CONTENT, COUNT, DEFAULT, NOW, JobPlacement

LABELS = {
    NOW: _("Observed"),
    DEFAULT: _("Flink's default"),
    COUNT: _("Fewest tasks a slot"),
    CONTENT: _("Equal slots apart"),
    BOTH: _("Both rules"),
}
MEANINGS = {
    NOW: _("as sampled"),
    DEFAULT: _("slots filled by subtask index, TaskManagers one after the other; Flink's own order is random"),
    COUNT: _("a task goes beside what feeds it, else to the slot with the fewest tasks"),
    CONTENT: _("slots that hold the same vertices go to different TaskManagers"),
    BOTH: _("what taskmanager.load-balance.mode TASKS of Flink 2.2 aims at"),
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
            gettext(
                "%(short)s of %(taskmanagers)s TaskManagers have fewer network buffers than the tasks on them need at "
                "least: %(taskmanager_id)s lacks %(short_by)s. Tasks there fail with “Insufficient number of network "
                "buffers”."
            )
            % {
                "short": len(short),
                "taskmanagers": len(found.taskmanagers),
                "taskmanager_id": short[0].taskmanager_id,
                "short_by": f"{short[0].short_by:,}",
            },
        )
    if now is None or now.max_over_mean is None or both is None:
        return Verdict("unknown", "?", gettext("How even its tasks are spread now is not known; below is what its plan alone allows."))
    ratio = now.max_over_mean
    if len(now.tasks) < 2:
        return Verdict("ok", "●", gettext("All tasks run on one TaskManager: there is nothing to spread."))
    if ratio <= EVEN:
        return Verdict(
            "ok",
            "●",
            gettext("Even: the fullest TaskManager has %(tasks)s tasks, %(ratio)s times the mean.")
            % {"tasks": f"{now.tasks[0]:,}", "ratio": f"{ratio:.2f}"},
        )
    better = both.max_over_mean is not None and both.max_over_mean * EVEN < ratio
    rest = (
        gettext("Both rules would bring it to %(max_over_mean)s.") % {"max_over_mean": f"{both.max_over_mean:.2f}"}
        if better
        else gettext("Other rules would not make it more even.")
    )
    return Verdict(
        "warn" if better else "ok",
        "◆" if better else "●",
        gettext("The fullest TaskManager has %(tasks)s of %(tasks_2)s tasks, %(ratio)s times the mean. %(rest)s")
        % {"tasks": f"{now.tasks[0]:,}", "tasks_2": f"{found.tasks:,}", "ratio": f"{ratio:.2f}", "rest": rest},
    )
