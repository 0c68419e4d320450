"""What can be in flight between a job's tasks, beside what its checkpoints persisted of it. Plain data for page, API and command."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.flink_rest.versions import release
from spark_jobs.placement.in_flight import OVERDRAFT_PER_PARTITION, VertexBuffers, buffers_in_flight
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib.flink_values import whole
from webapp.placement.job_plan import buffer_settings, plan_of

NEWEST = 20
_OVERDRAFT, _OVERDRAFT_SINCE = "taskmanager.network.memory.max-overdraft-buffers-per-gate", (1, 16)
_DEBLOATS, _DEBLOATS_SINCE = "taskmanager.network.memory.buffer-debloat.enabled", (1, 14)
_UNALIGNED = ("execution.checkpointing.unaligned.enabled", "execution.checkpointing.unaligned")


@dataclass(frozen=True)
class Persisted:
    """One completed checkpoint. ``bytes``: in-flight data; ``written_bytes``: all that it wrote. None is unknown."""

    checkpoint_id: int
    at: datetime
    unaligned: bool | None
    bytes: int | None
    written_bytes: int | None
    alignment_ms: int | None


@dataclass(frozen=True)
class JobInFlight:
    """``vertices`` None where the plan is not known. ``debloats`` and ``unaligned``: as configured or reported, None is unknown.
    ``checkpoints``: the newest completed ones, newest first."""

    segment_bytes: int
    buffers_per_channel: int
    floating_per_gate: int
    overdraft_per_partition: int
    vertices: Sequence[VertexBuffers] | None
    debloats: bool | None
    can_debloat: bool | None
    unaligned: bool | None
    checkpoints: Sequence[Persisted]

    @property
    def buffers(self) -> int | None:
        return None if self.vertices is None else sum(one.inputs + one.outputs for one in self.vertices)

    @property
    def most_bytes(self) -> int | None:
        """All buffers, each full."""
        return None if self.buffers is None else self.buffers * self.segment_bytes

    @property
    def persisted_bytes(self) -> int | None:
        """The most of the newest checkpoints; None where none says."""
        return max((one.bytes for one in self.checkpoints if one.bytes is not None), default=None)

    @property
    def persisted_share(self) -> float | None:
        """Of what can be in flight."""
        return self.persisted_bytes / self.most_bytes if self.persisted_bytes is not None and self.most_bytes else None

    @property
    def written_share(self) -> float | None:
        """In-flight data of all that unaligned checkpoints wrote."""
        both = [(one.bytes, one.written_bytes) for one in self.checkpoints if one.bytes and one.written_bytes]
        written = sum(all_bytes for _bytes, all_bytes in both)
        return min(1.0, sum(size for size, _all in both) / written) if written else None


def job_in_flight(job: JobCurrent, until: datetime) -> JobInFlight:
    """One query. Checkpoints triggered up to ``until``."""
    known, plan, of = job.configuration or {}, plan_of(job), release(job.flink_version)
    settings = buffer_settings(job.configuration)
    overdraft = whole(known.get(_OVERDRAFT), OVERDRAFT_PER_PARTITION) if of is None or of[:2] >= _OVERDRAFT_SINCE else 0
    done = CheckpointFact.objects.filter(cluster=job.cluster, job_id=job.job_id, outcome="completed", trigger_time__lte=until)
    columns = ("checkpoint_id", "trigger_time", "unaligned", "persisted_bytes", "checkpointed_bytes", "alignment_ms")
    rows = done.exclude(is_savepoint=True).order_by("-trigger_time").values_list(*columns)[:NEWEST]
    return JobInFlight(
        settings.segment_bytes,
        settings.buffers_per_channel,
        settings.floating_per_gate,
        overdraft,
        None if plan is None else buffers_in_flight(plan, settings, overdraft),
        _flag(job.configuration, _DEBLOATS),
        None if of is None else of[:2] >= _DEBLOATS_SINCE,
        _unaligned(job),
        [Persisted(*row) for row in rows],
    )


def _unaligned(job: JobCurrent) -> bool | None:
    reported = (job.checkpoint_config or {}).get("unaligned")
    if isinstance(reported, bool):
        return reported
    configured = [_flag(job.configuration, key) for key in _UNALIGNED if (job.configuration or {}).get(key) is not None]
    return configured[0] if configured else None


def _flag(configuration: dict[str, Any] | None, key: str) -> bool | None:
    """False where it is not set; None where the configuration is not known."""
    return None if configuration is None else str(configuration.get(key)).lower() == "true"
