"""``/jobs/:id/vertices/:vid/subtasks/metrics``: figures of operators and state over all subtasks.

Without names in the request, Flink lists the names that any subtask has; with names, it returns
minimum, maximum and sum. Names begin with operator and state
(``enrich.count.rocksdb_is-write-stopped``): a figure is recognised by the end of its name.
"""

import re
from collections.abc import Mapping, Sequence
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
"""Column of ``vertex_gauges`` → end of the figures' names, and aggregate over subtasks. If there
are too many, those of the first columns are requested.
"""
EVENT_TIME: dict[str, tuple[str, str]] = {
    "received_watermark_ms": (RECEIVED, "min"),
    "sent_watermark_ms": (SENT, "min"),
}
"""Requested only for vertices with several inputs and their feeders: every operator has them."""
MOST_NAMES, MOST_NAME_CHARS = 120, 300
READ, COMMITTED = "currentOffset", "committedOffset"
MOST_PARTITIONS = 40
"""Of one vertex. The offsets of more are not requested: they would be many requests a minute."""
_OFFSET = re.compile(
    rf"(.*KafkaSourceReader\.topic\..+\.partition\.[0-9]+)\.({READ}|{COMMITTED})", re.DOTALL
)
_BY_ENDING = {
    end: (place, column, aggregate)
    for place, (column, (end, aggregate)) in enumerate({**GAUGES, **EVENT_TIME}.items())
}
_REPLACEMENTS = (("rocksdb.", "rocksdb_"), ("Input.1.", "Input.0."))
"""Some releases have a dot instead of the underscore. A second input has its own buffers."""
_KNOWN = re.compile(rf"(?:.*\.)?({'|'.join(map(re.escape, _BY_ENDING))})", re.DOTALL)
SIGNED = frozenset(
    (*EVENT_TIME, "input1_watermark_ms", "input2_watermark_ms", "alignment_drift_ms")
)
LARGEST = 1e17


def is_known(column: str, value: float) -> bool:
    """False for a missing watermark, and for -1 in a column that is never negative."""
    return abs(value) < LARGEST and (value >= 0 or column in SIGNED)


def listed_names(body: Any) -> list[str]:
    names = (Fields(item, place).required_text("id") for place, item in elements(body))
    return [name for name in names if len(name) <= MOST_NAME_CHARS and "," not in name]


def names_to_request(names: Sequence[str]) -> list[str]:
    entries = ((_column_of(name), name) for name in names)
    ranked = ((entry[0], name) for entry, name in entries if entry and entry[1] in GAUGES)
    offsets = [name for name in names if _OFFSET.fullmatch(name)]
    return [
        *(name for _, name in sorted(ranked)[:MOST_NAMES]),
        *(offsets if len(offsets) <= 2 * MOST_PARTITIONS else ()),
    ]


def gauges(body: Any) -> dict[str, tuple[str, float]]:
    """Column, or name of a partition's offset → aggregate and value."""
    totals: dict[str, tuple[str, float]] = {}
    for place, item in elements(body):
        fields = Fields(item, place)
        name = fields.required_text("id")
        is_offset = _OFFSET.fullmatch(name)
        entry = (0, name, "max") if is_offset else _column_of(name)
        if entry is None:
            continue
        _, column, aggregate = entry
        value = fields.raw(aggregate)
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and (is_offset or is_known(column, value))
        ):
            _, known = totals.get(column, ("", None))
            totals[column] = aggregate, add_to(aggregate, known, value)
    return totals


def combine(parts: list[dict[str, tuple[str, float]]]) -> dict[str, int]:
    sums: dict[str, float] = {}
    for part in parts:
        for column, (aggregate, value) in part.items():
            sums[column] = add_to(aggregate, sums.get(column), value)
    offsets = {
        (match[1], match[2]): sums.pop(name)
        for name in list(sums)
        if (match := _OFFSET.fullmatch(name))
    }
    return {column: round(value) for column, value in (sums | uncommitted(offsets)).items()}


def uncommitted(offsets: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """``offsets``: (partition, ``READ`` or ``COMMITTED``) → offset; below 0: nothing was read, or
    committed, since the task began. Empty if a partition was read and its commit is unknown.

    A commit names the next offset to read. Source: ``KafkaSourceReaderMetrics``.
    """
    read = {partition: at for (partition, which), at in offsets.items() if which == READ}
    committed = {partition: offsets.get((partition, COMMITTED), -1) for partition in read}
    if not read or any(at >= 0 > committed[partition] for partition, at in read.items()):
        return {}
    records = (max(0, at + 1 - committed[partition]) for partition, at in read.items() if at >= 0)
    return {"uncommitted_records": sum(records)}


def _column_of(name: str) -> tuple[int, str, str] | None:
    """Rank, column and aggregate of a metric."""
    for dotted, spelling in _REPLACEMENTS:
        name = name.replace(dotted, spelling)
    match = _KNOWN.fullmatch(name)
    return _BY_ENDING[match[1]] if match else None


def add_to(aggregate: str, known: float | None, value: float) -> float:
    if known is None:
        return value
    if aggregate == "sum":
        return known + value
    return max(known, value) if aggregate == "max" else min(known, value)
