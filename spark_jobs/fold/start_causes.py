from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.downtime import DETECTED_WITHIN_MS
from spark_jobs.fold.failures import Failure, failure_between
from spark_jobs.fold.rows import Row, Rows

LOST_BEFORE_MS = 120_000
"""The heartbeats of a lost TaskManager have to time out before the restart."""
DATED_WITHIN_MS = 1_000
FAILURE_CHARS = 500
_RESTORED = ("restored_checkpoint_id", "restored_is_savepoint", "restored_path")


def with_causes(starts: Rows, annotations: Rows, failures: Sequence[Failure]) -> list[Row]:
    """``starts`` with failure, lost TaskManagers and restored snapshot."""
    in_order = sorted(annotations, key=itemgetter("at", "subject"))
    lost = [annotation["at"] for annotation in in_order if annotation["kind"] == TASKMANAGER_LOST]
    restores = [annotation for annotation in in_order if annotation["kind"] == "restore"]
    results: list[Row] = []
    previous_end = 0
    for start in starts:
        begun_at = start["at"] if start["begun_at"] is None else start["begun_at"]
        causes = {name: start.get(name) for name in ("failure", "lost_taskmanagers", *_RESTORED)}
        if start["kind"] == "start":
            causes["lost_taskmanagers"] = 0
        else:
            failure = failure_between(
                failures, begun_at - DETECTED_WITHIN_MS, begun_at + DATED_WITHIN_MS
            )
            if failure is not None and failure.text:
                causes["failure"] = failure.text[:FAILURE_CHARS]
            lost_since = max(begun_at - LOST_BEFORE_MS, previous_end)
            count = bisect_right(lost, start["running_at"]) - bisect_right(lost, lost_since)
            causes["lost_taskmanagers"] = max(count, causes["lost_taskmanagers"] or 0)
        details = [
            annotation["detail"]
            for annotation in restores
            if begun_at - DATED_WITHIN_MS < annotation["at"] <= start["running_at"]
        ]
        if details:
            snapshot = details[-1]
            kind = snapshot["from"]
            values = (snapshot["checkpoint_id"], kind and kind == "savepoint", snapshot["path"])
            causes |= dict(zip(_RESTORED, values, strict=True))
        results.append({**start, **causes})
        previous_end = start["running_at"]
    return results
