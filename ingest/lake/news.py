from collections.abc import Iterable

from ingest.job_states import NOT_LISTED
from ingest.records import Checkpoint, Job, LogRecord, Record, Skip

ROUTINE = "weir.routine"
"""In the description of a commit that brought no news."""

NEWS_LEVELS = frozenset({"WARN", "WARNING", "ERROR", "FATAL", "SEVERE"})
"""Other log lines are read for checkpoints, which REST reports earlier."""


def has_news(records: Iterable[Record]) -> bool:
    return any(is_news(record) for record in records)


def is_news(record: Record) -> bool:
    match record:
        case Checkpoint(status=status):
            return status in ("COMPLETED", "FAILED")
        case Job(vertices=vertices, state=state):
            # Read in full, because it changed or a sample was due; the list of jobs alone only says
            # whether it is still there.
            return vertices is not None or state == NOT_LISTED
        case LogRecord(level=level):
            return level.upper() in NEWS_LEVELS
        case Skip():
            return False
    return True
