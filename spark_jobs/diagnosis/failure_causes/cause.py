"""What an entry of the table of failure causes is."""

from dataclasses import dataclass

EXIT = r"(?:[Ee]xit(?:ed)?(?: with)?[ _]?(?:[Cc]ode|[Ss]tatus)|exitCode|exitStatus)(?: is)?[:= ] ?"
"""How YARN and Kubernetes introduce an exit code."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """A cause that exceptions, and reasons for the end of a process, give away by their words.

    ``regex`` is searched for in the text. ``title`` is a few words, ``next_step`` what the reader
    does. ``unreadable``: this job cannot read the snapshot that it restores, so starting from it
    again fails again. ``waits_for_slots``: no task ran meanwhile. ``source``: where such a text is
    printed or was reported.
    """

    code: str
    regex: str
    title: str
    next_step: str
    source: str
    unreadable: bool = False
    waits_for_slots: bool = False
