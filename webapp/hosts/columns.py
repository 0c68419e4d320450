"""Columns of the list of hosts."""

from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop


@dataclass(frozen=True)
class Heading:
    """``sort`` is what a click asks for; ``direction`` is empty where the table is not sorted by
    it; ``css`` says where it goes.
    """

    title: str
    sort: str
    direction: str
    css: str
    hint: str


_COLUMNS = (
    (
        gettext_noop("Host"),
        "host",
        "",
        gettext_noop("host, pod or container of a TaskManager, as Flink names it"),
    ),
    (gettext_noop("Findings"), "findings", "n", gettext_noop("open ones that name it")),
    (
        gettext_noop("Lost"),
        "losses",
        "n",
        gettext_noop("TaskManagers that were lost, by heartbeats or otherwise"),
    ),
    (gettext_noop("Declines"), "declines", "n", gettext_noop("of checkpoints, by subtasks on it")),
    (
        gettext_noop("Expired"),
        "expired",
        "n medium",
        gettext_noop("checkpoints of which subtasks on it, and few others, had not acknowledged"),
    ),
    (gettext_noop("Failed tasks"), "failures", "n medium", gettext_noop("root failures")),
    (gettext_noop("Jobs"), "jobs", "n wide", gettext_noop("that run there now")),
    (gettext_noop("Subtasks"), "subtasks", "n wide", gettext_noop("that run there now")),
    (
        gettext_noop("Last"),
        "last_at",
        "n medium",
        gettext_noop("when any of this last happened"),
    ),
)


def headings(sort: str, downwards: bool) -> list[Heading]:
    """A click sorts figures downwards first, names upwards, and turns the order round where it is
    sorted so already.
    """
    shown = []
    for title, key, css, hint in _COLUMNS:
        first_down = key != "host"
        down_next = not downwards if key == sort else first_down
        direction = ("descending" if downwards else "ascending") if key == sort else ""
        shown.append(
            Heading(
                gettext(title), f"{'-' if down_next else ''}{key}", direction, css, gettext(hint)
            )
        )
    return shown
