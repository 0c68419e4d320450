"""What calls are called and what they come to, in words."""

from spark_jobs.filesystem_calls.calls import Calls
from webapp.filesystem_calls.job_audit import JobAudit
from webapp.filesystem_calls.job_calls import JobCalls
from webapp.filesystem_calls.what_ifs import HALF, KNEE, LARGEST, MERGED, NOW, PAUSE, TWICE, UNMERGED, WhatIfs
from webapp.lib.quantities import bytes_text, duration_text
from webapp.storage.replication_factor import ReplicationFactor

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
WHAT_IFS = {
    NOW: "As it is",
    MERGED: "Checkpoint files merged",
    UNMERGED: "Checkpoint files not merged",
    KNEE: "Inline threshold at the knee",
    LARGEST: "Largest inline threshold",
    HALF: "Half the parallelism",
    TWICE: "Twice the interval",
    PAUSE: "Checkpoints back to back",
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


def bytes_sentence(found: JobCalls, replicated: ReplicationFactor) -> str:
    """What one checkpoint writes, and how much of the file system that takes."""
    total = found.file_bytes + found.metadata_bytes
    written = f"It wrote up to {bytes_text(found.file_bytes)} in these files and {bytes_text(found.metadata_bytes)} in its _metadata"
    raw = replicated.raw(total)
    return f"{written}, {bytes_text(raw)} raw: stored {replicated.factor:g} times, {replicated.why}." if raw is not None else f"{written}."


def rows(found: JobCalls) -> list[tuple[str, str, str]]:
    """Label, count and meaning of each kind."""
    return [(LABELS[kind], count_of(getattr(found.least, kind), getattr(found.most, kind)), MEANINGS[kind]) for kind in LABELS]


def by_label(calls: Calls) -> dict[str, int]:
    return {label: getattr(calls, kind) for kind, label in LABELS.items()}


def _rate(per_s: float | None) -> str:
    return "–" if per_s is None else f"{per_s:,.1f} calls/s" if per_s < 100 else f"{per_s:,.0f} calls/s"


def knee_sentence(found: WhatIfs) -> str:
    """What a higher threshold buys, against the present."""
    now, best = found.at_now, found.knee
    if not found.curve:
        return "No inline threshold would change the files of this job."
    if best is None or best.threshold_bytes <= now.threshold_bytes:
        return f"The threshold of {bytes_text(now.threshold_bytes)} is at the knee or above: a higher one costs heap and saves few files."
    less, heap, metadata = now.files - best.files, best.heap_bytes - now.heap_bytes, best.metadata_bytes - now.metadata_bytes
    return (
        f"The knee is at {bytes_text(best.threshold_bytes)}: {less:,} files less a checkpoint for {bytes_text(heap)} more on the heap of "
        f"the JobManager ({found.retained:,} retained) and {bytes_text(metadata)} more in each _metadata."
    )


def floor_sentence(found: WhatIfs) -> str:
    parts = [f"{duration_text(one.interval_ms)} for {one.per_s:,} call{'' if one.per_s == 1 else 's'}/s" for one in found.floors]
    return f"Shortest interval at which it stays within a rate, over time: {', '.join(parts)}."


def what_if_rows(found: WhatIfs) -> list[dict[str, str]]:
    """Cells of the table of what-ifs."""
    return [
        {
            "label": WHAT_IFS[one.key],
            "setting": one.setting,
            "files": count_of(one.files_least, one.files_most),
            "calls": count_of(one.calls_least, one.calls_most),
            "rate": _rate(one.per_s),
            "metadata": bytes_text(one.metadata_bytes),
            "heap": bytes_text(one.heap_bytes),
        }
        for one in found.rows
    ]


def observed_sentence(found: JobAudit) -> str:
    many = "1 checkpoint" if found.checkpoints == 1 else f"{found.checkpoints:,} checkpoints"
    return (
        f"{found.per_checkpoint:,.1f} calls for each of {many}, {found.expected_per_checkpoint:,} expected of kinds that an audit log has; "
        f"{found.burst:,} in the worst second."
    )
