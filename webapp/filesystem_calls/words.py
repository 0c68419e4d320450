"""What calls are called and what they come to, in words."""

from spark_jobs.filesystem_calls.calls import Calls
from webapp.filesystem_calls.job_calls import JobCalls
from webapp.lib.quantities import duration_text

LABELS = {
    "create": "create",
    "add_block": "addBlock",
    "fsync": "fsync",
    "complete": "complete",
    "rename": "rename",
    "delete": "delete",
    "get_file_info": "getFileInfo",
    "mkdirs": "mkdirs",
    "get_listing": "getListing",
}
"""As the client protocol of HDFS names them, and the NameNode's metrics and audit log."""
MEANINGS = {
    "create": "one for each file",
    "add_block": "one for each block of a file, of 128 MiB unless dfs.blocksize says otherwise",
    "fsync": "one for each file: Flink flushes it before it closes it",
    "complete": "one for each file; more where a block is not replicated yet",
    "rename": "the _metadata, once it is whole",
    "delete": "later, as it is subsumed: each file, the _metadata, the directory; in-flight data by each subtask in a file",
    "get_file_info": "whether the _metadata is there, how long it became; and after each delete of what is gone",
    "mkdirs": "the directory of the checkpoint",
    "get_listing": "none: Flink lists no directory to take a checkpoint",
}


def count_of(least: int, most: int) -> str:
    """``12``, or ``12–40`` where it is not known better."""
    return f"{most:,}" if least == most else f"{least:,}–{most:,}"


def sentence(found: JobCalls) -> str:
    files = count_of(found.files_least, found.files_most)
    calls = f"One checkpoint costs {count_of(found.least.total, found.most.total)} calls for {files} "
    per_s = f"; at one every {duration_text(found.pace.every_ms)} that is {_rate(found.per_s)}" if found.per_s is not None else ""
    burst = f", and {_rate(found.burst_per_s)} while it is written" if found.burst_per_s is not None else ""
    return f"{calls}files beside its _metadata{per_s}{burst}."


def rows(found: JobCalls) -> list[tuple[str, str, str]]:
    """Label, count and meaning of each kind."""
    return [(LABELS[kind], count_of(getattr(found.least, kind), getattr(found.most, kind)), MEANINGS[kind]) for kind in LABELS]


def by_label(calls: Calls) -> dict[str, int]:
    return {label: getattr(calls, kind) for kind, label in LABELS.items()}


def _rate(per_s: float | None) -> str:
    return "–" if per_s is None else f"{per_s:,.1f} calls/s" if per_s < 100 else f"{per_s:,.0f} calls/s"
