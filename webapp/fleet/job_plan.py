from collections.abc import Mapping
from typing import Any

from spark_jobs.fold.history import plan_of as plan_edges
from spark_jobs.placement.network_buffers import BufferSettings
from spark_jobs.placement.plan import Plan, PlannedVertex, make_plan
from webapp.fleet.models import JobCurrent
from webapp.lib.flink_values import size_bytes, whole

_CHANNEL = "taskmanager.network.memory.buffers-per-channel"
_SEGMENT = "taskmanager.memory.segment-size"


def plan_of(job: JobCurrent) -> Plan | None:
    """None if the vertices or their parallelism are unknown."""
    names = job.vertex_names
    vertices = [
        PlannedVertex(
            key, names[key], vertex.get("parallelism") or 0, vertex.get("slot_sharing_group_id")
        )
        for key, vertex in job.vertices.items()
    ]
    if not vertices or any(vertex.parallelism < 1 for vertex in vertices):
        return None
    return make_plan(vertices, plan_edges(job.graph or {})[1])


def buffer_settings(configuration: Mapping[str, Any] | None) -> BufferSettings:
    options, defaults = configuration or {}, BufferSettings()
    return BufferSettings(
        whole(options.get(_CHANNEL), defaults.buffers_per_channel),
        size_bytes(options.get(_SEGMENT), 0) or defaults.segment_bytes,
    )


def restarts_all(configuration: Mapping[str, Any] | None) -> bool:
    """Whether a failure restarts all tasks: failover strategy ``full``, or adaptive scheduler."""
    options = {key: str(value or "").lower() for key, value in (configuration or {}).items()}
    return (
        options.get("jobmanager.scheduler") == "adaptive"
        or options.get("scheduler-mode") == "reactive"
        or options.get("jobmanager.execution.failover-strategy") == "full"
    )
