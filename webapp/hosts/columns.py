"""Columns of the list of hosts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """``sort`` is what a click asks for; ``direction`` is empty where the table is not sorted by it; ``css`` says where it goes."""

    title: str
    sort: str
    direction: str
    css: str
    hint: str


_COLUMNS = (
    ("Host", "host", "", "host, pod or container of a TaskManager, as Flink names it"),
    ("Findings", "findings", "n", "open ones that name it"),
    ("Lost", "losses", "n", "TaskManagers that were lost, by heartbeats or otherwise"),
    ("Declines", "declines", "n", "of checkpoints, by subtasks on it"),
    ("Expired", "expired", "n medium", "checkpoints of which subtasks on it, and few others, had not acknowledged"),
    ("Failed tasks", "failures", "n medium", "root failures"),
    ("Jobs", "jobs", "n wide", "that run there now"),
    ("Subtasks", "subtasks", "n wide", "that run there now"),
    ("Last", "last_at", "n medium", "when anything of it happened last"),
)


def headings(sort: str, downwards: bool) -> list[Heading]:
    """A click sorts figures downwards first, names upwards, and turns the order round where it is sorted so already."""
    found = []
    for title, key, css, hint in _COLUMNS:
        first_down = key != "host"
        down_next = not downwards if key == sort else first_down
        direction = ("descending" if downwards else "ascending") if key == sort else ""
        found.append(Heading(title, f"{'-' if down_next else ''}{key}", direction, css, hint))
    return found
