"""How much of what happened to jobs happened on one host, against its share of their subtasks: pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.diagnosis.wording import count_text

WORDS = {"decline": "decline", "expired": "expired checkpoint", "failure": "failed task", "taskmanager_lost": "lost TaskManager"}
NOTABLE = 2.0
"""Times what its subtasks let expect; of fewer than three nothing follows."""
LEAST_EVENTS = 3

Job = tuple[str, str]


@dataclass(frozen=True)
class Concentration:
    """``here`` of ``total`` events of the jobs; ``expected``: by the share of subtasks, None where no placement is known."""

    kind: str
    here: int
    total: int
    expected: float | None

    @property
    def is_notable(self) -> bool:
        return self.here >= LEAST_EVENTS and self.expected is not None and self.here >= NOTABLE * self.expected

    @property
    def sentence(self) -> str:
        was = "was" if self.here == 1 else "were"
        said = f"{self.here:,} of {count_text(self.total, WORDS.get(self.kind, self.kind))} of the jobs that ran here {was} on this host"
        if self.expected is None:
            return f"{said}; how many would be expected is unknown, since no placement of some of these jobs was seen."
        return f"{said}; by its share of their subtasks {self.expected:.1f} would be expected."


def concentration(kind: str, events: Mapping[Job, tuple[int, int]], subtasks: Mapping[Job, tuple[int, int]]) -> Concentration:
    """``events``: job → those on the host, and all of it; ``subtasks``: job → those that it ran on the host, and all of it.

    Expected is what would be here if each subtask of a job were as likely as the next one.
    """
    known = {job: own / every for job, (own, every) in subtasks.items() if every}
    of_jobs = {job: every for job, (_, every) in events.items() if every}
    expected = sum(every * known[job] for job, every in of_jobs.items()) if of_jobs.keys() <= known.keys() else None
    return Concentration(kind, sum(here for here, _ in events.values()), sum(of_jobs.values()), expected)
