"""Restarts under the adaptive scheduler, written as other schedulers log them. It makes another
execution graph: the log says CANCELLING, CANCELED, then CREATED to RUNNING.
"""

from collections.abc import Sequence

from spark_jobs.fold.rows import Row, grouped, ordered

RECREATED = "CREATED"
_OF_JOB = ("job_state", "job_terminal", "job_submitted")


def as_restarts(in_order: Sequence[Row]) -> Sequence[Row]:
    if not any(event["to_state"] == "CANCELLING" for event in in_order):
        return in_order
    replaced: dict[int, Row | None] = {}
    for of_process in grouped(
        (event for event in in_order if event["kind"] in _OF_JOB), "process"
    ).values():
        begun: Row | None = None
        cancelled: list[Row] = []
        for event in ordered(of_process, "ts", "file", "offset"):
            if event["kind"] != "job_state":
                begun, cancelled = None, []
            elif event["to_state"] == "CANCELLING":
                begun = event
            elif event["to_state"] == "CANCELED":
                cancelled.append(event)
            elif (
                event["to_state"] == "RUNNING"
                and event["from_state"] == RECREATED
                and begun is not None
            ):
                replaced |= {
                    id(begun): {**begun, "to_state": "RESTARTING"},
                    **{id(entry): None for entry in cancelled},
                }
                begun, cancelled = None, []
        replaced |= {id(entry): None for entry in cancelled}
    return [row for event in in_order if (row := replaced.get(id(event), event)) is not None]
