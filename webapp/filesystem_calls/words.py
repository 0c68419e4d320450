"""What calls are called and what they come to, in words."""

from ingest.messages import join_messages, message, plural
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
    "create": message("one for each file"),
    "add_block": message("one for each block of a file, of 128 MiB unless dfs.blocksize says otherwise"),
    "fsync": message("one for each file: Flink flushes it before it closes it"),
    "complete": message("one for each file; more where a block is not replicated yet"),
    "rename": message("the _metadata, once it is whole"),
    "delete": message("later, as it is subsumed: each file, the _metadata, the directory; in-flight data by each subtask in a file"),
    "get_file_info": message("whether the _metadata is there, how long it became; and after each delete of what is gone"),
    "mkdirs": message("the directory of the checkpoint"),
    "get_listing": message("none: Flink lists no directory to take a checkpoint"),
}
WHAT_IFS = {
    NOW: message("As it is"),
    MERGED: message("Checkpoint files merged"),
    UNMERGED: message("Checkpoint files not merged"),
    KNEE: message("Inline threshold at the knee"),
    LARGEST: message("Largest inline threshold"),
    HALF: message("Half the parallelism"),
    TWICE: message("Twice the interval"),
    PAUSE: message("Checkpoints back to back"),
}


def count_of(least: int, most: int) -> str:
    """``12``, or ``12–40`` where it is not known better."""
    return f"{most:,}" if least == most else f"{least:,}–{most:,}"


def sentence(found: JobCalls) -> str:
    files = count_of(found.files_least, found.files_most)
    calls = message(
        "One checkpoint costs {total:name} calls for {files:name} files beside its _metadata",
        total=count_of(found.least.total, found.most.total),
        files=files,
    )
    per_s = (
        message(
            "; at one every {every_ms:name} that is {per_s:text}", every_ms=duration_text(found.pace.every_ms), per_s=_rate(found.per_s)
        )
        if found.per_s is not None
        else ""
    )
    burst = (
        message(", and {burst_per_s:text} while it is written", burst_per_s=_rate(found.burst_per_s))
        if found.burst_per_s is not None
        else ""
    )
    return message(
        "{sentence:name}.", sentence=message("{calls:message}{per_s:message}{burst:message}", calls=calls, per_s=per_s, burst=burst)
    )


def bytes_sentence(found: JobCalls, replicated: ReplicationFactor) -> str:
    """What one checkpoint writes, and how much of the file system that takes."""
    total = found.file_bytes + found.metadata_bytes
    written = message(
        "It wrote up to {file_bytes:name} in these files and {metadata_bytes:name} in its _metadata",
        file_bytes=bytes_text(found.file_bytes),
        metadata_bytes=bytes_text(found.metadata_bytes),
    )
    raw = replicated.raw(total)
    return (
        message(
            "{written:text}, {raw:name} raw: stored {factor:name} times, {why:name}.",
            written=written,
            raw=bytes_text(raw),
            factor=f"{replicated.factor:g}",
            why=replicated.why,
        )
        if raw is not None
        else message("{sentence:text}.", sentence=written)
    )


def rows(found: JobCalls) -> list[tuple[str, str, str]]:
    """Label, count and meaning of each kind."""
    return [(LABELS[kind], count_of(getattr(found.least, kind), getattr(found.most, kind)), MEANINGS[kind]) for kind in LABELS]


def by_label(calls: Calls) -> dict[str, int]:
    return {label: getattr(calls, kind) for kind, label in LABELS.items()}


def _rate(per_s: float | None) -> str:
    return (
        "–"
        if per_s is None
        else message("{per_s:name} calls/s", per_s=f"{per_s:,.1f}")
        if per_s < 100
        else message("{per_s:name} calls/s", per_s=f"{per_s:,.0f}")
    )


def knee_sentence(found: WhatIfs) -> str:
    """What a higher threshold buys, against the present."""
    now, best = found.at_now, found.knee
    if not found.curve:
        return message("No inline threshold would change the files of this job.")
    if best is None or best.threshold_bytes <= now.threshold_bytes:
        return message(
            "The threshold of {threshold_bytes:name} is at the knee or above: a higher one costs heap and saves few files.",
            threshold_bytes=bytes_text(now.threshold_bytes),
        )
    less, heap, metadata = now.files - best.files, best.heap_bytes - now.heap_bytes, best.metadata_bytes - now.metadata_bytes
    return message(
        "The knee is at {threshold_bytes:name}: {less:name} files less a checkpoint "
        "for {heap:name} more on the heap of the JobManager ({retained:name} retained) "
        "and {metadata:name} more in each _metadata.",
        threshold_bytes=bytes_text(best.threshold_bytes),
        less=f"{less:,}",
        heap=bytes_text(heap),
        retained=f"{found.retained:,}",
        metadata=bytes_text(metadata),
    )


def floor_sentence(found: WhatIfs) -> str:
    parts = [
        plural(
            one.per_s,
            "{interval_ms:name} for {per_s:name} call/s",
            "{interval_ms:name} for {per_s:name} calls/s",
            interval_ms=duration_text(one.interval_ms),
            per_s=f"{one.per_s:,}",
        )
        for one in found.floors
    ]
    return message("Shortest interval at which it stays within a rate, over time: {parts:text}.", parts=join_messages(parts, ", "))


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
    many = (
        message("1 checkpoint")
        if found.checkpoints == 1
        else message("{checkpoints:name} checkpoints", checkpoints=f"{found.checkpoints:,}")
    )
    return message(
        "{per_checkpoint:name} calls for each of {many:text}, "
        "{expected_per_checkpoint:name} expected of kinds that an audit log has; "
        "{burst:name} in the worst second.",
        per_checkpoint=f"{found.per_checkpoint:,.1f}",
        many=many,
        expected_per_checkpoint=f"{found.expected_per_checkpoint:,}",
        burst=f"{found.burst:,}",
    )
