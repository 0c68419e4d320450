from collections.abc import Iterator

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.fold.downtime import words_of
from spark_jobs.fold.mentions import Mention, by_log, least_downtime, restore_words
from spark_jobs.fold.retention import OPERATOR_EVENT
from spark_jobs.fold.rows import Row, RowList, grouped, iso, ordered
from spark_jobs.fold.snapshots import Types

CAUSE_CHARS = 500


def log_mentions(events: RowList, outages: RowList, types: Types) -> list[Mention]:
    return [mention for event in events for mention in _line_mentions(event, types)] + [
        *_restarts(events, outages)
    ]


def _line_mentions(event: Row, types: Types) -> Iterator[Mention]:
    kind, state = event["kind"], event["to_state"]
    if kind == "job_submitted":
        yield by_log("deploy", "", "submitted", None, event)
    elif kind == "restored":
        word = event["checkpoint_type"] and event["checkpoint_type"].lower()
        subject, label, detail = restore_words(
            word, event["checkpoint_id"], event["path"], event["job_id"], types
        )
        yield by_log("restore", subject, label, detail, event)
    elif kind == OPERATOR_EVENT:
        yield from operator_mentions(event)
    if (kind == "task_state" and state == "FAILED") or (kind == "job_state" and state == "FAILING"):
        yield _failure_mention(event)
    if kind in ("job_state", "job_terminal") and state in TERMINAL_STATES:
        yield by_log("terminal", state, state.lower(), None, event)


def _failure_mention(event: Row) -> Mention:
    task, cause = event["task"], event["reason_text"]
    detail = {name: event[name] for name in ("task", "subtask", "attempt", "container", "host")}
    is_vague = task is None and cause is None
    words = None if is_vague else {**detail, "cause": cause and without_middle(cause, CAUSE_CHARS)}
    return by_log(
        "failure",
        "",
        message("job failing") if task is None else message("{task:name} failed", task=str(task)),
        words,
        event,
    )


def _restarts(events: RowList, outages: RowList) -> Iterator[Mention]:
    outage_of_start = {outage["at"]: outage for outage in outages}
    outage_of_restart = {at: outage for outage in outages for at in outage["restarts"][1:]}
    state_events = (event for event in events if event["kind"] == "job_state")
    for process_events in grouped(state_events, "process").values():
        in_order = ordered(process_events, "ts", "file", "offset", "record_hash", "ordinal")
        for event, next_event in zip(in_order, [*in_order[1:], None], strict=True):
            if event["to_state"] != "RESTARTING":
                continue
            label, detail, at = "restart", None, event["ts"]
            if at in outage_of_start:
                label, detail = words_of(outage_of_start[at])
            elif at in outage_of_restart:
                label = message("restart before all tasks ran again")
                detail = {"outage_began_at": iso(outage_of_restart[at]["at"])}
            elif next_event is not None and next_event["to_state"] == "RUNNING":
                detail = least_downtime(at, next_event["ts"])
            yield by_log("restart", "", label, detail, event)


OPERATOR = "operator"
"""Kind of mentions whose subject is the operator's reason (``EventRecorder.Reason``, or one of
``ingest.discovery``).
"""

OPERATOR_WORDS = {
    "SpecChanged": message("operator began an upgrade"),
    "Reconciled": message("operator reconciled the job"),
    "Rollback": message("operator rolled back"),
    "Suspended": message("operator suspended the job"),
    "Submit": message("operator deployed the job"),
    "RecoverDeployment": message("operator recovered the JobManager"),
    "RestartUnhealthyJob": message("operator restarted the job"),
    "Scaling": message("operator rescales the job"),
    "Missing": message("operator misses the JobManager"),
    "SavepointCompleted": message("operator took a savepoint"),
    "SavepointFailed": message("savepoint of the operator failed"),
    "SavepointError": message("savepoint of the operator failed"),
    "ScalingReport": message("autoscaler scales the job"),
    "IneffectiveScaling": message("autoscaler: a scaling did not help"),
}
"""Other reasons, such as JobStatusChanged, repeat REST."""
_KINDS_OF_CHANGE = {
    "SCALE": message("operator rescales the job"),
    "SAVEPOINT_REDEPLOY": message("operator redeploys from a savepoint"),
}
_ADVICE = "Scaling execution disabled"


def operator_mentions(event: Row) -> Iterator[Mention]:
    # Of an operator's event, the columns are its reason and its message.
    reason, text = event["to_state"], event["reason_text"] or ""
    change = text.partition(" ")[0]
    if reason not in OPERATOR_WORDS or (reason == "SpecChanged" and change == "IGNORE"):
        return
    label = OPERATOR_WORDS[reason]
    if reason == "SpecChanged":
        label = _KINDS_OF_CHANGE.get(change, label)
    elif reason == "ScalingReport" and text.startswith(_ADVICE):
        label = message("autoscaler advises a scaling")
    yield by_log(OPERATOR, reason, label, {"said": text, "path": event["path"]}, event)
