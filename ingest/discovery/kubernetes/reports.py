from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingest.discovery.operator_report import (
    MAX_EVENTS,
    MAX_JOBS,
    OperatorEvent,
    OperatorReport,
    ReportedJob,
)

STARTS_WITHIN_MS = 15 * 60_000
"""An upgrade begins at most this long before its job."""
SAVEPOINT, SAVEPOINT_FAILED, RECONCILED = "SavepointCompleted", "SavepointFailed", "Reconciled"
"""Weir's own reasons, for events that only the status shows."""

Kept = Mapping[str, Any]


def report_of(
    deployment: Kept,
    session_jobs: Sequence[Kept],
    events: Sequence[Kept] | None,
    snapshots: Iterable[Kept],
) -> OperatorReport:
    """``events`` is None if they may not be read; then only the status says when something was
    reconciled.
    """
    own = [deployment, *session_jobs] if deployment["has_job"] else list(session_jobs)
    kubernetes_events = [
        event for of in (deployment, *session_jobs) for event in _events(of, events, snapshots)
    ]
    newest = sorted(
        set(kubernetes_events),
        key=lambda event: (event.at_ms, event.reason, event.job_id, event.message, event.path),
    )[-MAX_EVENTS:]
    return OperatorReport(
        resource=_resource(deployment),
        lifecycle=deployment["lifecycle"],
        job_manager=deployment["job_manager"],
        reconciliation=deployment["reconciliation"],
        error=deployment["error"],
        suspended=deployment["wanted"] == "SUSPENDED",
        jobs=tuple(_job(of, deployment) for of in own[:MAX_JOBS]),
        events=tuple(newest),
    )


def _resource(of: Kept) -> str:
    return f"{of['kind']} {of['namespace']}/{of['name']}"


def _job(of: Kept, deployment: Kept) -> ReportedJob:
    error = "" if of is deployment else of["error"]  # that of an application is the cluster's
    return ReportedJob(
        _resource(of),
        of["job_name"] or of["name"],
        of["job_id"],
        of["job_state"],
        of["lifecycle"],
        error,
    )


def _events(
    of: Kept, events: Sequence[Kept] | None, snapshots: Iterable[Kept]
) -> Iterator[OperatorEvent]:
    key = (of["kind"], of["name"])
    for event in events or ():
        if event["of"] == key and (job_id := _job_at(of, event["at_ms"])) is not None:
            yield OperatorEvent(
                event["at_ms"], event["reason"], job_id, event["message"], "", event["is_warning"]
            )
    at_ms = of["reconciled_at_ms"]
    if events is None and at_ms is not None and (job_id := _job_at(of, at_ms)) is not None:
        yield OperatorEvent(
            at_ms,
            RECONCILED,
            job_id,
            f"generation {of['observed_generation'] or of['generation'] or 'unknown'}",
        )
    saved = [snapshot for snapshot in snapshots if snapshot["of"] == key]
    if of["savepoint"] and not any(entry["path"] == of["savepoint"]["path"] for entry in saved):
        saved.append(of["savepoint"])
    for entry in saved:
        if (job_id := _job_at(of, entry["at_ms"])) is not None:
            reason = SAVEPOINT_FAILED if entry["error"] else SAVEPOINT
            yield OperatorEvent(
                entry["at_ms"],
                reason,
                job_id,
                entry["error"] or entry["trigger"].lower(),
                entry["path"],
                bool(entry["error"]),
            )


def _job_at(of: Kept, at_ms: int) -> str | None:
    """ "" if the operator knows none yet, None if the event is of an earlier job."""
    if of["started_at_ms"] is not None and at_ms < of["started_at_ms"] - STARTS_WITHIN_MS:
        return None
    return str(of["job_id"])
