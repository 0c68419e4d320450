"""How much of what happened to jobs happened on one host, against its share of their subtasks:
pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop, ngettext

from ingest.messages import count_text
from spark_jobs.diagnosis.statistics import at_least_by_chance
from webapp.lib.translations import ngettext_noop

WORDS = {
    "decline": "decline",
    "expired": "expired checkpoint",
    "failure": "failed task",
    "taskmanager_lost": "lost TaskManager",
}
MANY = {
    "decline": gettext_noop("declines"),
    "expired": gettext_noop("expired checkpoints"),
    "failure": gettext_noop("failed tasks"),
    "taskmanager_lost": gettext_noop("lost TaskManagers"),
}
_FORMS = {
    "decline": ngettext_noop("%(count)s decline", "%(count)s declines"),
    "expired": ngettext_noop("%(count)s expired checkpoint", "%(count)s expired checkpoints"),
    "failure": ngettext_noop("%(count)s failed task", "%(count)s failed tasks"),
    "taskmanager_lost": ngettext_noop("%(count)s lost TaskManager", "%(count)s lost TaskManagers"),
}
NOTABLE = 2.0
"""Times what its subtasks let expect; of fewer than three nothing follows."""
LEAST_EVENTS = 3
MOST_CHANCE = 0.05
"""Of as many here, were each subtask as likely as the next one: three of three on one of two hosts
are nothing.
"""

Job = tuple[str, str]


@dataclass(frozen=True)
class Concentration:
    """``here`` of ``total`` events of the jobs; ``expected``: by the share of subtasks, None where
    no placement is known.
    """

    kind: str
    here: int
    total: int
    expected: float | None

    @property
    def is_notable(self) -> bool:
        return (
            self.here >= LEAST_EVENTS
            and self.expected is not None
            and self.here >= NOTABLE * self.expected
            and at_least_by_chance(self.here, self.total, self.expected / self.total) <= MOST_CHANCE
        )

    @property
    def sentence(self) -> str:
        losses = ngettext(
            "%(here)s of %(all)s of the jobs that ran here was on this host",
            "%(here)s of %(all)s of the jobs that ran here were on this host",
            self.here,
        ) % {"here": f"{self.here:,}", "all": counted(self.kind, self.total)}
        if self.expected is None:
            return gettext(
                "%(losses)s; how many would be expected is unknown, since no placement of some of "
                "these jobs was seen."
            ) % {"losses": losses}
        return gettext(
            "%(losses)s; by its share of their subtasks %(expected)s would be expected."
        ) % {
            "losses": losses,
            "expected": f"{self.expected:.1f}",
        }


def concentration(
    kind: str, events: Mapping[Job, tuple[int, int]], subtasks: Mapping[Job, tuple[int, int]]
) -> Concentration:
    """``events``: job → those on the host, and all of it; ``subtasks``: job → those that it ran on
    the host, and all of it.

    Expected is what would be here if each subtask of a job were as likely as the next one.
    """
    known = {job: own / every for job, (own, every) in subtasks.items() if every}
    of_jobs = {job: every for job, (_, every) in events.items() if every}
    expected = (
        sum(every * known[job] for job, every in of_jobs.items())
        if of_jobs.keys() <= known.keys()
        else None
    )
    return Concentration(
        kind, sum(here for here, _ in events.values()), sum(of_jobs.values()), expected
    )


def counted(kind: str, total: int) -> str:
    """'2 declines'."""
    return (
        str(ngettext(*_FORMS[kind], total) % {"count": f"{total:,}"})
        if kind in _FORMS
        else count_text(total, kind)
    )
