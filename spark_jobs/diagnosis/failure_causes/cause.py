from dataclasses import dataclass

EXIT = r"(?:[Ee]xit(?:ed)?(?: with)?[ _]?(?:[Cc]ode|[Ss]tatus)|exitCode|exitStatus)(?: is)?[:= ] ?"
"""How YARN and Kubernetes introduce an exit code."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """A cause of failures, known by ``regex`` in an exception or in the reason why a process ended.
    ``title`` is a few words. ``unreadable``: this job cannot read the snapshot that it restores, so
    each start from it fails. ``waits_for_slots``: no task runs meanwhile.
    """

    code: str
    regex: str
    title: str
    next_step: str
    unreadable: bool = False
    waits_for_slots: bool = False
