"""Buffers that can be in flight before and behind each vertex: what an unaligned checkpoint
persists at most. An input gate has ``buffers_per_channel`` for each channel and floating ones; a
result partition up to two for each subpartition, or one and floating ones, and overdraft buffers
since 1.16. A local channel has none: where tasks run together the truth is less.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.placement.network_buffers import BufferSettings
from spark_jobs.placement.plan import Plan

OVERDRAFT_PER_PARTITION = 5
"""``taskmanager.network.memory.max-overdraft-buffers-per-gate`` by default."""


@dataclass(frozen=True)
class VertexBuffers:
    """At most, over all subtasks: before the vertex (``inputs``) and behind it (``outputs``)."""

    vertex_id: str
    name: str
    parallelism: int
    inputs: int
    outputs: int


def buffers_in_flight(
    plan: Plan, settings: BufferSettings, overdraft: int = OVERDRAFT_PER_PARTITION
) -> Sequence[VertexBuffers]:
    inputs, outputs = [0] * len(plan.vertices), [0] * len(plan.vertices)
    for edge in plan.edges:
        source = plan.vertices[edge.source].parallelism
        target = plan.vertices[edge.target].parallelism
        # Pointwise, each subtask of the larger side has one channel.
        channels = max(source, target) if edge.is_pointwise else source * target
        inputs[edge.target] += (
            channels * settings.buffers_per_channel + target * settings.floating_per_gate
        )
        pool = max(
            channels + source,
            channels * settings.buffers_per_channel + source * settings.floating_per_gate,
        )
        outputs[edge.source] += pool + source * overdraft
    return [
        VertexBuffers(vertex.vertex_id, vertex.name, vertex.parallelism, before, behind)
        for vertex, before, behind in zip(plan.vertices, inputs, outputs, strict=True)
    ]
