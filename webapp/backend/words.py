"""What the state backend of a job comes to, in words."""

from django.utils.translation import gettext

from webapp.backend.job_backend import OF_BUFFERS, OF_ROCKSDB, JobBackend
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text, duration_text


def verdict(found: JobBackend) -> Badge:
    if found.is_rocksdb is None:
        return Badge(
            gettext("Whether this job keeps its state in RocksDB is not known: Flink does not name its backend, or names another one."),
            "?",
            "unknown",
        )
    if not found.is_rocksdb:
        return Badge(
            gettext("This job does not keep its state in RocksDB: there are no stalls of writes, flushes or compactions."), "●", "ok"
        )
    if found.vertices is None:
        return Badge(gettext("Figures of RocksDB could not be read; its options are below."), "?", "unknown")
    of_rocksdb = found.having(OF_ROCKSDB)
    if not of_rocksdb:
        return Badge(
            gettext("RocksDB's own metrics are off, or none was read in these minutes: whether it stalls is unknown."), "?", "unknown"
        )
    failed = [one for one in of_rocksdb if one.newest["background_errors"]]
    if failed:
        return Badge(
            gettext("Flushes or compactions of %(name)s failed: look at the local disks of its TaskManagers.") % {"name": failed[0].name},
            "▲",
            "crit",
        )
    stalled = [one for one in of_rocksdb if one.stalled]
    if stalled:
        worst = stalled[0]
        return Badge(
            gettext("RocksDB stopped or slowed the writes of %(name)s in %(stalled)s of %(samples)s samples.")
            % {"name": worst.name, "stalled": count_text(worst.stalled), "samples": count_text(worst.samples)},
            "◆",
            "warn",
        )
    if not any(one.samples for one in of_rocksdb):
        return Badge(gettext("Metrics of stalls are off (is-write-stopped, actual-delayed-write-rate): unknown."), "?", "unknown")
    return Badge(gettext("No stall of writes in these minutes."), "●", "ok")


def debloating(found: JobBackend) -> str:
    """What is known of the size of buffers, and what to set."""
    seen = found.having(OF_BUFFERS)
    if seen:
        longest = max((one.newest["buffers_consumed_in_ms"] or 0 for one in seen), default=0)
        return gettext(
            "Buffer debloating is on: what is in flight before a vertex is consumed within %(longest)s at most. "
            "Barriers wait no longer than that for data before them; taskmanager.network.memory.buffer-debloat.target "
            "(1 s by default) sets it."
        ) % {"longest": duration_text(longest)}
    return gettext(
        "Buffer debloating is off, or its figures were not read: buffers have their full size (taskmanager.memory.segment-size, 32 kb by "
        "default) however slowly they are consumed. Where checkpoints wait in alignment, set "
        "taskmanager.network.memory.buffer-debloat.enabled: true (1.14 and later); what is in flight is then about a second of input."
    )


def switch_on(found: JobBackend) -> str:
    """Lines for the configuration of metrics that are off; empty where all are on, or where nothing is known."""
    if not found.is_rocksdb or found.options is None:
        return ""
    return "\n".join(f"{one.key}: true" for one in found.native_metrics if not one.is_on)
