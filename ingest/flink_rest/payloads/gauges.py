"""``/jobs/:id/vertices/:vid/subtasks/metrics``: figures of operators and state over all subtasks.
Without names Flink lists those that any subtask has; with names it answers minimum, maximum and
sum. Names begin with operator and state (``enrich.count.rocksdb_is-write-stopped``): a figure is
known by the end of its name.
"""

import re
from collections.abc import Iterable
from typing import Any

from ingest.flink_rest.payloads.event_time import RECEIVED, SENT
from ingest.flink_rest.payloads.fields import Fields, elements

GAUGES: dict[str, tuple[str, str]] = {
    "input1_watermark_ms": ("currentInput1Watermark", "min"),
    "input2_watermark_ms": ("currentInput2Watermark", "min"),
    "debloated_buffer_bytes": ("debloatedBufferSize", "min"),
    "buffers_consumed_in_ms": ("Input.0.estimatedTimeToConsumeBuffersMs", "max"),
    "writes_stopped": ("rocksdb_is-write-stopped", "sum"),
    "delayed_write_bytes_per_s": ("rocksdb_actual-delayed-write-rate", "max"),
    "background_errors": ("rocksdb_background-errors", "sum"),
    "flushes_pending": ("rocksdb_mem-table-flush-pending", "sum"),
    "compactions_pending": ("rocksdb_compaction-pending", "sum"),
    "compaction_pending_bytes": ("rocksdb_estimate-pending-compaction-bytes", "sum"),
    "level0_files": ("rocksdb_num-files-at-level0", "max"),
    "block_cache_bytes": ("rocksdb_block-cache-usage", "max"),
    "block_cache_capacity_bytes": ("rocksdb_block-cache-capacity", "max"),
    "memtable_bytes": ("rocksdb_cur-size-all-mem-tables", "sum"),
    "sst_bytes": ("rocksdb_total-sst-files-size", "sum"),
    "alignment_drift_ms": ("watermarkAlignmentDrift", "max"),
    "split_paused_ms_per_s": ("watermark.pausedTimeMsPerSecond", "max"),
    "behind_latest_ms": ("millisBehindLatest", "max"),
    "offset_commits": ("KafkaSourceReader.commitsSucceeded", "sum"),
    "offset_commits_failed": ("KafkaSourceReader.commitsFailed", "sum"),
}
"""Column of ``vertex_gauges`` → end of its figures' names, and the aggregate. If not all fit, the
first are requested.
"""
EVENT_TIME: dict[str, tuple[str, str]] = {
    "received_watermark_ms": (RECEIVED, "min"),
    "sent_watermark_ms": (SENT, "min"),
}
"""Only for vertices with several inputs and their feeders: every operator has these."""
MOST_NAMES, MOST_NAME_CHARS = 120, 300
_ENDS = {
    end: (place, column, aggregate)
    for place, (column, (end, aggregate)) in enumerate({**GAUGES, **EVENT_TIME}.items())
}
_ALSO = (("rocksdb.", "rocksdb_"), ("Input.1.", "Input.0."))
"""Some releases replace a dot by an underscore; a second input has its own buffers."""
_KNOWN = re.compile(rf"(?:.*\.)?({'|'.join(map(re.escape, _ENDS))})", re.DOTALL)
SIGNED = frozenset(
    (*EVENT_TIME, "input1_watermark_ms", "input2_watermark_ms", "alignment_drift_ms")
)
LARGEST = 1e17
"""Missing watermarks are Long.MIN, those of ended inputs Long.MAX."""


def is_known(column: str, value: float) -> bool:
    """False for a missing watermark, and for -1 where no figure is negative."""
    return abs(value) < LARGEST and (value >= 0 or column in SIGNED)


def listed(body: Any) -> list[str]:
    names = (Fields(item, place).the_text("id") for place, item in elements(body))
    return [name for name in names if len(name) <= MOST_NAME_CHARS and "," not in name]


def wanted(names: Iterable[str]) -> list[str]:
    ranked = (
        (known[0], name) for name in names if (known := _column_of(name)) and known[1] in GAUGES
    )
    return [name for _, name in sorted(ranked)[:MOST_NAMES]]


def gauges(body: Any) -> dict[str, tuple[str, float]]:
    named: dict[str, tuple[str, float]] = {}
    for place, item in elements(body):
        entry = Fields(item, place)
        known = _column_of(entry.the_text("id"))
        if known is None:
            continue
        _, column, aggregate = known
        value = entry.raw(aggregate)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and is_known(column, value)
        ):
            before = named.get(column)
            named[column] = (
                aggregate,
                value if before is None else put_together(aggregate, before[1], value),
            )
    return named


def joined(parts: list[dict[str, tuple[str, float]]]) -> dict[str, int]:
    sums: dict[str, float] = {}
    for part in parts:
        for column, (aggregate, value) in part.items():
            sums[column] = (
                value if column not in sums else put_together(aggregate, sums[column], value)
            )
    return {column: round(value) for column, value in sums.items()}


def _column_of(name: str) -> tuple[int, str, str] | None:
    for other, spelling in _ALSO:
        name = name.replace(other, spelling)
    match = _KNOWN.fullmatch(name)
    return _ENDS[match[1]] if match else None


def put_together(aggregate: str, value: float, other: float) -> float:
    return (
        value + other
        if aggregate == "sum"
        else max(value, other)
        if aggregate == "max"
        else min(value, other)
    )
