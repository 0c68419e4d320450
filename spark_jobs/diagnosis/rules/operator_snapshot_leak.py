"""The operator disposes of a savepoint through its running job. Without the job, the resource and
the files stay (``StateSnapshotReconciler.cleanup``). By default it repeats a failed snapshot
forever (``backoffLimit: -1``).
"""

from collections.abc import Iterator

from ingest.messages import list_text, message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Threshold
from spark_jobs.diagnosis.operator_samples import OperatorStatus, StateSnapshot
from spark_jobs.diagnosis.rule import last_error, rule, sample_finding

RULE = "operator.snapshot_leak"
WAIT, FAILURES = f"{RULE}.deletion_s", f"{RULE}.failures"
ENDED = ("COMPLETED", "FAILED", "ABANDONED")


@rule(
    RULE,
    message("Snapshots of the operator leak"),
    message(
        "A FlinkStateSnapshot waits for its deletion, has lost its job resource, or fails again "
        "and again: files stay in storage."
    ),
    judges=OperatorStatus,
    needs=("snapshots",),
    thresholds=(
        Threshold(
            WAIT,
            600,
            "s",
            60,
            604_800,
            message("The operator deletes a savepoint within minutes if its job runs."),
        ),
        Threshold(
            FAILURES,
            3,
            "count",
            1,
            1_000,
            message("The operator repeats a failed snapshot after 10, 20 and 40 seconds."),
        ),
    ),
)
def judge(sample: OperatorStatus, limits: Limits) -> Iterator[Finding]:
    waiting = [
        snapshot
        for snapshot in sample.snapshots
        if snapshot.deleted_at_ms is not None
        and sample.at_ms - snapshot.deleted_at_ms >= limits[WAIT] * 1000
    ]
    lost = [
        snapshot
        for snapshot in sample.snapshots
        if not snapshot.has_owner and snapshot.state == "COMPLETED" and snapshot not in waiting
    ]
    failing = [
        snapshot
        for snapshot in sample.snapshots
        if snapshot.failures >= limits[FAILURES] and snapshot.state not in ENDED
    ]
    if not waiting and not lost and not failing:
        return
    leaks = [*waiting, *lost, *failing]
    oldest_ms = min((snapshot.deleted_at_ms or 0 for snapshot in waiting), default=None)
    yield sample_finding(
        sample,
        RULE,
        "warning",
        title=message(
            "{leaks:count} snapshots of {cluster:name} are not cleaned up by the operator",
            leaks=len(leaks),
            cluster=sample.cluster,
        ),
        cause=message(
            "Deletion that waits: {waiting:name}. Without their job resource: {lost:name}. Fail "
            "again and again: {failing:name}. The operator disposes of a savepoint through its "
            "running job only.",
            waiting=_names(waiting),
            lost=_names(lost),
            failing=_names(failing),
        ),
        next_step=message(
            "If the job shall run, let it run: the operator then deletes what waits. Else audit the "
            "storage first: another job may have been restored from the savepoint and still need its "
            "files. Delete only what the audit proves unneeded, then remove the finalizer of the "
            "resource. For one that fails, read its status and set a backoffLimit."
        ),
        evidence=(
            Evidence(message("snapshots that leak"), len(leaks), "count"),
            *(
                [
                    limits.evidence(
                        message("longest wait for a deletion"),
                        (sample.at_ms - oldest_ms) / 1000,
                        WAIT,
                    )
                ]
                if oldest_ms
                else []
            ),
            *last_error(next((snapshot.error for snapshot in failing if snapshot.error), None))[0],
        ),
        data={"paths": [snapshot.path for snapshot in leaks if snapshot.path]},
    )


def _names(snapshots: list[StateSnapshot]) -> str:
    return list_text(snapshot.name for snapshot in snapshots[:10]) or message("none")
