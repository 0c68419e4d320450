"""The adaptive scheduler restarts a job as a new graph: the log says CANCELLING, CANCELED, then
CREATED to RUNNING. Other schedulers log RESTARTING.

Flink's events report the states as they are, without the state before: one that a log has is left
out.
"""

from spark_jobs.fold.rows import Row, RowList, grouped, ordered

RECREATED = "CREATED"
_JOB_KINDS = ("job_state", "job_terminal", "job_submitted")
SAME_MS = 1_000


def job_states(events: RowList) -> RowList:
    """Events as in the log of a scheduler that restarts jobs, each state of the job once."""
    restarts = _as_restarts(events)
    states = [event for event in restarts if event["kind"] == "job_state"]
    logged = [event for event in states if event["from_state"] is not None]
    repeated = {
        id(event)
        for event in states
        if event["from_state"] is None
        and any(
            line["to_state"] == event["to_state"] and abs(line["ts"] - event["ts"]) <= SAME_MS
            for line in logged
        )
    }
    return [event for event in restarts if id(event) not in repeated] if repeated else restarts


def _as_restarts(events: RowList) -> RowList:
    """Events with RESTARTING in place of such a CANCELLING, and without its CANCELED."""
    if not any(event["to_state"] == "CANCELLING" for event in events):
        return events
    replacements: dict[int, Row | None] = {}
    job_events = (
        event
        for event in events
        if event["kind"] in _JOB_KINDS
        and (event["kind"] != "job_state" or event["from_state"] is not None)
    )
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
                replacements[id(cancelling)] = {**cancelling, "to_state": "RESTARTING"}
                replacements |= {id(entry): None for entry in cancelled}
                cancelling, cancelled = None, []
        replacements |= {id(entry): None for entry in cancelled}
    return [row for event in events if (row := replacements.get(id(event), event)) is not None]
