"""Whether a commit has news, for which a cycle runs at once."""

from collections.abc import Iterable

from ingest.job_states import NOT_LISTED
from ingest.records import Checkpoint, Job, LogRecord, Record, Skip

ROUTINE = "weir.routine"
"""Key in the metadata of a commit without news."""

NEWS_LEVELS = frozenset({"WARN", "WARNING", "ERROR", "FATAL", "SEVERE"})
"""Lines of other levels tell of checkpoints, which REST reports earlier."""


def has_news(records: Iterable[Record]) -> bool:
    return any(is_news(record) for record in records)


def is_news(record: Record) -> bool:
    match record:
        case Checkpoint(status=status):
            return status in ("COMPLETED", "FAILED")
        case Job(vertices=vertices, state=state):
            # The job has vertices if it was read in full, since it changed or a sample was due.
            return vertices is not None or state == NOT_LISTED
        case LogRecord(level=level):
            return level.upper() in NEWS_LEVELS
        case Skip():
            return False
    return True
