"""What the Flink Kubernetes Operator did to a job: upgrades, roll-backs, savepoints it took,
redeployments.
"""

from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.fold.mentions import Mention, by_log
from spark_jobs.fold.rows import Row

KIND = "operator"
"""Of the annotation; its subject is the operator's own word (``EventRecorder.Reason``, or one of
:mod:`ingest.discovery`).
"""

WORDS = {
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
}
"""Reasons that change a job; others, such as JobStatusChanged, say what REST says, too, and remain
events of its log.
"""
_KINDS_OF_CHANGE = {
    "SCALE": message("operator rescales the job"),
    "SAVEPOINT_REDEPLOY": message("operator redeploys from a savepoint"),
}


def operator_mentions(event: Row) -> Iterator[Mention]:
    reason, text = event["to_state"], event["reason_text"] or ""
    change = text.partition(" ")[0]
    if reason not in WORDS or (reason == "SpecChanged" and change == "IGNORE"):
        return
    label = (
        _KINDS_OF_CHANGE.get(change, WORDS[reason]) if reason == "SpecChanged" else WORDS[reason]
    )
    yield by_log(KIND, reason, label, {"said": text, "path": event["path"]}, event)
