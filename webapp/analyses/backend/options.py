"""Options of RocksDB that decide how it behaves, as the configuration of the cluster has them, and
which of its metrics are on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.messages import message

PREFIX = "state.backend.rocksdb."
METRICS = f"{PREFIX}metrics."
METRIC_MEANINGS = {
    "is-write-stopped": message("writes are stopped"),
    "actual-delayed-write-rate": message("writes are slowed down"),
    "mem-table-flush-pending": message("a write buffer waits for its flush"),
    "compaction-pending": message("a compaction waits"),
    "estimate-pending-compaction-bytes": message("what compactions have left to rewrite"),
    "num-files-at-level": message("files in level 0"),
    "background-errors": message("failed flushes and compactions"),
    "block-cache-usage": message("block cache in use"),
    "block-cache-capacity": message("size of the block cache"),
    "cur-size-all-mem-tables": message("write buffers in memory"),
    "total-sst-files-size": message("files on the local disk"),
}
"""Those that the page shows; each costs the property to be read every few seconds."""
_SHOWN: Sequence[tuple[tuple[str, ...], str, str]] = (
    (
        ("execution.checkpointing.incremental", "state.backend.incremental"),
        "false",
        message("checkpoints upload new files only"),
    ),
    (
        ("taskmanager.memory.managed.size", "taskmanager.memory.managed.fraction"),
        "0.4",
        message("memory that write buffers and block caches share"),
    ),
    ((f"{PREFIX}memory.managed",), "true", message("RocksDB stays within managed memory")),
    ((f"{PREFIX}memory.fixed-per-slot",), message("not set"), message("instead of managed memory")),
    ((f"{PREFIX}memory.write-buffer-ratio",), "0.5", message("share of it for write buffers")),
    (
        (f"{PREFIX}localdir",),
        message("the working directory of the TaskManager"),
        message("local disks; several spread the load"),
    ),
    ((f"{PREFIX}thread.num",), "2", message("threads for flushes and compactions of a RocksDB")),
    (
        (f"{PREFIX}checkpoint.transfer.thread.num",),
        "4",
        message(
            "threads of a stateful subtask that upload and download files; 1 by default before 1.13"
        ),
    ),
    ((f"{PREFIX}writebuffer.size",), "64 mb", message("a flush makes a file of about this")),
    (
        (f"{PREFIX}writebuffer.count",),
        "2",
        message("write buffers of a state, flushed ones among them"),
    ),
    (
        (f"{PREFIX}compaction.style",),
        "LEVEL",
        message("NONE compacts nothing; FIFO drops old files"),
    ),
    ((f"{PREFIX}predefined-options",), "DEFAULT", message("settings by kind of disk")),
    (
        (f"{PREFIX}use-bloom-filter",),
        "false",
        message("reads of keys that are not there touch fewer files"),
    ),
    (
        (f"{PREFIX}timer-service.factory",),
        "ROCKSDB",
        message("where timers are kept; HEAP is faster while they fit"),
    ),
    (
        (f"{PREFIX}compaction.filter.periodic-compaction-time",),
        "30 d",
        message("old files are compacted so often, so that what expired goes"),
    ),
    (
        ("execution.state-recovery.from-local", "state.backend.local-recovery"),
        "false",
        message("a copy of state on the local disk for restarts"),
    ),
)


@dataclass(frozen=True)
class Option:
    """``is_set``: in the configuration of the cluster; else ``value`` is Flink's default."""

    key: str
    value: str
    is_set: bool
    meaning: str


@dataclass(frozen=True)
class NativeMetric:
    key: str
    is_on: bool
    meaning: str


def options(configuration: Mapping[str, object] | None) -> list[Option] | None:
    """None where the configuration is not known."""
    if configuration is None:
        return None
    set_options = []
    for keys, default, meaning in _SHOWN:
        key = next((key for key in keys if configuration.get(key) is not None), None)
        set_options.append(
            Option(
                key or keys[0],
                str(configuration[key]) if key else default,
                key is not None,
                meaning,
            )
        )
    return set_options


def native_metrics(configuration: Mapping[str, object] | None) -> list[NativeMetric]:
    known = configuration or {}
    return [
        NativeMetric(
            f"{METRICS}{name}", str(known.get(f"{METRICS}{name}")).lower() == "true", meaning
        )
        for name, meaning in METRIC_MEANINGS.items()
    ]


_ON_HEAP = ("hashmap", "fsstate", "memorystate", "heap")


def named(text: str | None) -> str | None:
    """What REST names, ``None`` where it says itself that it does not know."""
    return None if not text or text.lower() == "unknown" else text


def is_rocksdb(state_backend: str | None) -> bool | None:
    """By the name that REST gives the backend (EmbeddedRocksDBStateBackend, HashMapStateBackend);
    None for none and for others.
    """
    name = (named(state_backend) or "").lower()
    if "rocksdb" in name:
        return True
    return False if any(heap in name for heap in _ON_HEAP) else None
