"""``/jobs/:id/vertices/:vid/backpressure``: the back-pressured ratio of each subtask."""

from typing import Any

from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.payloads.vertices import subtask_index


def ratios(body: Any) -> dict[int, float | None]:
    """Ratio 0…1 by subtask index; empty while Flink has only begun to sample (``deprecated``).

    Only this ratio is read: idle and busy ratios are metrics of other instants, and are asked for as such.
    Raises ``Skipped`` on a bad shape.
    """
    payload = Fields(body)
    if payload.text("status") != "ok":
        return {}
    return {subtask_index(subtask): subtask.real("ratio") for subtask in payload.objects("subtasks")}
