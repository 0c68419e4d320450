"""Rewrites restarts under the adaptive scheduler as other schedulers log them. It makes a new
graph: the log says CANCELLING, CANCELED, then CREATED to RUNNING.
"""

from collections.abc import Sequence

from spark_jobs.fold.rows import Row, grouped, ordered

RECREATED = "CREATED"
_JOB_KINDS = ("job_state", "job_terminal", "job_submitted")


def as_restarts(in_order: Sequence[Row]) -> Sequence[Row]:
    if not any(event["to_state"] == "CANCELLING" for event in in_order):
        return in_order
    replaced: dict[int, Row | None] = {}
    job_events = (event for event in in_order if event["kind"] in _JOB_KINDS)
    for process_events in grouped(job_events, "process").values():
        cancelling: Row | None = None
        cancelled: list[Row] = []
        for event in ordered(process_events, "ts", "file", "offset"):
            if event["kind"] != "job_state":
                cancelling, cancelled = None, []
            elif event["to_state"] == "CANCELLING":
                cancelling = event
            elif event["to_state"] == "CANCELED":
                cancelled.append(event)
            elif cancelling and (event["from_state"], event["to_state"]) == (RECREATED, "RUNNING"):
                replaced[id(cancelling)] = {**cancelling, "to_state": "RESTARTING"}
                replaced |= {id(entry): None for entry in cancelled}
                cancelling, cancelled = None, []
        replaced |= {id(entry): None for entry in cancelled}
    return [row for event in in_order if (row := replaced.get(id(event), event)) is not None]
