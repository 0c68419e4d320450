from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingest.discovery.operator_report import (
    MAX_EVENTS,
    MAX_JOBS,
    MAX_SNAPSHOTS,
    OperatorEvent,
    OperatorReport,
    ReportedJob,
    ReportedSnapshot,
)

STARTS_WITHIN_MS = 15 * 60_000
"""An upgrade begins at most this long before the new job starts."""
SAVEPOINT, SAVEPOINT_FAILED, RECONCILED = "SavepointCompleted", "SavepointFailed", "Reconciled"

Summary = Mapping[str, Any]


def report_of(
    deployment: Summary,
    session_jobs: Sequence[Summary],
    events: Sequence[Summary] | None,
    snapshots: Sequence[Summary],
    blue_green: Summary | None = None,
) -> OperatorReport:
    """``events`` is None if Weir may not read them: only the status says when a resource was
    reconciled. ``session_jobs``: also the other deployment of a ``blue_green`` pair.
    """
    job_resources = [deployment, *session_jobs] if deployment["has_job"] else list(session_jobs)
    kubernetes_events = [
        event
        for resource in (deployment, *session_jobs)
        for event in _events(resource, events, snapshots)
    ]
    newest = sorted(
        set(kubernetes_events),
        key=lambda event: (event.at_ms, event.reason, event.job_id, event.message, event.path),
    )[-MAX_EVENTS:]
    return OperatorReport(
        resource=_resource(deployment),
        blue_green=blue_green["state"] if blue_green else "",
        snapshots=_troubled(snapshots, {(job["kind"], job["name"]) for job in job_resources}),
        lifecycle=deployment["lifecycle"],
        job_manager=deployment["job_manager"],
        reconciliation=deployment["reconciliation"],
        error="; ".join(
            filter(None, (deployment["error"], blue_green["error"] if blue_green else ""))
        ),
        suspended=deployment["wanted"] == "SUSPENDED",
        jobs=tuple(_job(resource, deployment) for resource in job_resources[:MAX_JOBS]),
        events=tuple(newest),
    )


def _troubled(
    snapshots: Iterable[Summary], owners: Collection[tuple[str, str]]
) -> tuple[ReportedSnapshot, ...]:
    """Snapshots that fail, wait for their deletion, or whose job resource is gone."""
    return tuple(
        ReportedSnapshot(
            name=snapshot["name"],
            state=snapshot["state"],
            failures=snapshot["failures"] or 0,
            error=snapshot["error"],
            path=snapshot["path"],
            deleted_at_ms=snapshot["deleted_at_ms"],
            has_owner=snapshot["of"] in owners,
        )
        for snapshot in snapshots
        if snapshot["failures"] or snapshot["deleted_at_ms"] or snapshot["of"] not in owners
    )[:MAX_SNAPSHOTS]


def _resource(resource: Summary) -> str:
    return f"{resource['kind']} {resource['namespace']}/{resource['name']}"


def _job(resource: Summary, deployment: Summary) -> ReportedJob:
    # The error of an application is reported as that of the cluster.
    error = "" if resource is deployment else resource["error"]
    return ReportedJob(
        _resource(resource),
        resource["job_name"] or resource["name"],
        resource["job_id"],
        resource["job_state"],
        resource["lifecycle"],
        error,
    )


def _events(
    resource: Summary, events: Sequence[Summary] | None, snapshots: Iterable[Summary]
) -> Iterator[OperatorEvent]:
    key = (resource["kind"], resource["name"])
    for event in events or ():
        if event["of"] == key and (job_id := _job_at(resource, event["at_ms"])) is not None:
            yield OperatorEvent(
                event["at_ms"], event["reason"], job_id, event["message"], "", event["is_warning"]
            )
    at_ms = resource["reconciled_at_ms"]
    if events is None and at_ms is not None and (job_id := _job_at(resource, at_ms)) is not None:
        yield OperatorEvent(
            at_ms,
            RECONCILED,
            job_id,
            f"generation {resource['observed_generation'] or resource['generation'] or 'unknown'}",
        )
    savepoints = [snapshot for snapshot in snapshots if snapshot["of"] == key and snapshot["at_ms"]]
    if resource["savepoint"] and not any(
        snapshot["path"] == resource["savepoint"]["path"] for snapshot in savepoints
    ):
        savepoints.append(resource["savepoint"])
    for snapshot in savepoints:
        at_ms, error = snapshot["at_ms"], snapshot["error"]
        if (job_id := _job_at(resource, at_ms)) is not None:
            reason = SAVEPOINT_FAILED if error else SAVEPOINT
            message = error or snapshot["trigger"].lower()
            yield OperatorEvent(at_ms, reason, job_id, message, snapshot["path"], bool(error))


def _job_at(resource: Summary, at_ms: int) -> str | None:
    """The id of the resource's job, "" without one yet, None if an earlier job ran at ``at_ms``."""
    started_at_ms = resource["started_at_ms"]
    if started_at_ms is not None and at_ms < started_at_ms - STARTS_WITHIN_MS:
        return None
    return str(resource["job_id"])
