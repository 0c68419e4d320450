"""A source that starts its part of a checkpoint late: the JobManager's trigger reaches it by one
RPC, and waits until the task thread takes it, so its start delay is the time for which that thread
was busy.
"""

from dataclasses import dataclass
from typing import Any

from ingest.messages import brief, message, subtask_text
from spark_jobs.diagnosis.findings import Evidence
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow


@dataclass(frozen=True, slots=True)
class LateSource:
    """Of one checkpoint the subtask of a source that started last."""

    checkpoint_id: int
    at_ms: int
    vertex_id: str
    name: str
    subtask: int | None
    delay_ms: int

    @property
    def brief(self) -> str:
        return brief(self.name)

    @property
    def cause(self) -> str:
        return message(
            "{brief:name} started its part {delay_ms:duration} after the trigger. A source "
            "receives the trigger itself instead of a barrier. Its task thread was busy or "
            "held the checkpoint lock, so it took the trigger from its mailbox late.",
            brief=subtask_text(self.brief, self.subtask),
            delay_ms=self.delay_ms,
        )

    @property
    def next_step(self) -> str:
        return message(
            "Take a thread dump of {brief:name} while a checkpoint is pending, or look at its "
            "flame graph in Flink's page (rest.flamegraph.enabled: true). The trigger waits "
            "for what this thread does: often a blocking call, or one record that becomes "
            "many, in the source or an operator chained to it.",
            brief=self.brief,
        )

    @property
    def evidence(self) -> Evidence:
        where = message(
            "{name:name}, checkpoint {checkpoint_id:number}; a source waits for no barrier",
            name=subtask_text(self.name, self.subtask),
            checkpoint_id=self.checkpoint_id,
        )
        return Evidence(
            message("start delay of the source"), self.delay_ms, "ms", at_ms=self.at_ms, note=where
        )

    def as_data(self) -> dict[str, Any]:
        return {
            "vertex_id": self.vertex_id,
            "name": self.name,
            "subtask": self.subtask,
            "checkpoint_id": self.checkpoint_id,
        }


def late_source(
    window: JobWindow,
    checkpoint: CheckpointSample,
    start_delay_ms: float | None,
    least_share: float,
) -> LateSource | None:
    """None where the sources started in time: their delay is less than ``least_share`` of the whole
    start delay, or is not known.
    """
    delay_ms, vertex_id = checkpoint.source_start_delay_ms, checkpoint.latest_source_id
    if (
        not start_delay_ms
        or delay_ms is None
        or vertex_id is None
        or delay_ms < least_share * start_delay_ms
    ):
        return None
    name = window.vertex_name(vertex_id)
    return LateSource(
        checkpoint.checkpoint_id,
        checkpoint.ended_ms,
        vertex_id,
        name,
        checkpoint.latest_source_subtask,
        delay_ms,
    )
