"""What the state backend of a job comes to, in words."""

from ingest.messages import join_messages, message
from webapp.backend.job_backend import OF_BUFFERS, OF_ROCKSDB, JobBackend
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text, duration_text


def verdict(found: JobBackend) -> Badge:
    if found.is_rocksdb is None:
        return Badge(
            message("Whether this job keeps its state in RocksDB is not known: Flink does not name its backend, or names another one."),
            "?",
            "unknown",
        )
    if not found.is_rocksdb:
        return Badge(
            message("This job does not keep its state in RocksDB: there are no stalls of writes, flushes or compactions."), "●", "ok"
        )
    if found.vertices is None:
        return Badge(message("Figures of RocksDB could not be read; its options are below."), "?", "unknown")
    of_rocksdb = found.having(OF_ROCKSDB)
    if not of_rocksdb:
        return Badge(
            message("RocksDB's own metrics are off, or none was read in these minutes: whether it stalls is unknown."), "?", "unknown"
        )
    failed = [one for one in of_rocksdb if one.newest["background_errors"]]
    if failed:
        return Badge(
            message("Flushes or compactions of {name:name} failed: look at the local disks of its TaskManagers.", name=failed[0].name),
            "▲",
            "crit",
        )
    stalled = [one for one in of_rocksdb if one.stalled]
    if stalled:
        worst = stalled[0]
        return Badge(
            message(
                "RocksDB stopped or slowed the writes of {name:name} in {stalled:name} of {samples:name} samples.",
                name=worst.name,
                stalled=count_text(worst.stalled),
                samples=count_text(worst.samples),
            ),
            "◆",
            "warn",
        )
    if not any(one.samples for one in of_rocksdb):
        return Badge(message("Metrics of stalls are off (is-write-stopped, actual-delayed-write-rate): unknown."), "?", "unknown")
    return Badge(message("No stall of writes in these minutes."), "●", "ok")


def debloating(found: JobBackend) -> str:
    """What is known of the size of buffers, and what to set."""
    seen = found.having(OF_BUFFERS)
    if seen:
        longest = max((one.newest["buffers_consumed_in_ms"] or 0 for one in seen), default=0)
        return message(
            "Buffer debloating is on: what is in flight before a vertex is consumed within "
            "{longest:name} at most. Barriers wait no longer than that for data before "
            "them; taskmanager.network.memory.buffer-debloat.target (1 s by default) sets "
            "it.",
            longest=duration_text(longest),
        )
    return message(
        "Buffer debloating is off, or its figures were not read: buffers have their "
        "full size (taskmanager.memory.segment-size, 32 kb by default) however slowly "
        "they are consumed. Where checkpoints wait in alignment, set "
        "taskmanager.network.memory.buffer-debloat.enabled: true (1.14 and later); "
        "what is in flight is then about a second of input."
    )


def switch_on(found: JobBackend) -> str:
    """Lines for the configuration of metrics that are off; empty where all are on, or where nothing is known."""
    if not found.is_rocksdb or found.options is None:
        return ""
    return join_messages((message("{key:name}: true", key=one.key) for one in found.native_metrics if not one.is_on), "\n")
