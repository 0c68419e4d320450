"""``/jobs/:id/vertices/:vid``: how many records the newest attempt of each subtask has read and emitted so far.

Flink's ``metrics`` of a subtask are counters of the attempt, which begin at 0 with it. The JobManager collects them every ten seconds
(``metrics.fetcher.update-interval``); until then it answers 0 with ``…-complete`` false.
"""

from dataclasses import dataclass
from typing import Any

from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.payloads.vertices import subtask_index


@dataclass(frozen=True, slots=True)
class Counted:
    """Records since the attempt began; None where Flink says that its figure is not complete."""

    records_in: int | None = None
    records_out: int | None = None


def counted(body: Any) -> dict[int, Counted]:
    """By subtask index, of those that have a figure. Raises ``Skipped`` on a bad shape."""
    found = {}
    for subtask in Fields(body).objects("subtasks"):
        metrics = subtask.object("metrics")
        if metrics is not None:
            counters = Counted(_complete(metrics, "read-records"), _complete(metrics, "write-records"))
            if counters != Counted():
                found[subtask_index(subtask)] = counters
    return found


def _complete(metrics: Fields, name: str) -> int | None:
    return metrics.whole(name) if metrics.flag(f"{name}-complete") else None
