"""Outages: how long a job was down around its restarts, by the JobManager's log. An outage lasts
from the first RESTARTING until every failed or cancelled task runs again, over any number of
restarts. Its parts: *cancel*, until the last task of the old attempt ended; *wait*, until the job
is RUNNING; *failed attempts*, until the next restart; *redeploy*, until the last task began to
restore its state (before 1.14, until all run); *restore*, until all run. Before it comes *detect*:
from the first failed task to RESTARTING.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.job_states import TERMINAL_STATES
from ingest.messages import join_messages, message
from spark_jobs.fold.adaptive_restarts import RECREATED
from spark_jobs.fold.retention import events_whole_from
from spark_jobs.fold.rows import Row, RowList, Rows, grouped, iso, ordered

DETECTED_WITHIN_MS = 60_000
"""A task that failed longer before a restart belongs to an earlier restart."""
OUTAGES_KEPT = 100
_ENDED = ("FAILED", "CANCELED")
_Task = tuple[Any, Any]


@dataclass
class _Outage:
    """``down``: tasks that do not run. For each restart the instants of RESTARTING (``restarts``),
    the last ended task (``cancelled``), and RUNNING.
    """

    failed_at: int | None
    down: set[_Task]
    restarts: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    restoring_at: int | None = None

    @property
    def is_restarting(self) -> bool:
        return len(self.running) < len(self.restarts)


def outages(events: Rows, remembered: RowList, known: RowList) -> list[Row]:
    """The newest outages that ended, in order. ``remembered``: earlier events. ``known``: earlier
    results, kept if their lines are forgotten.
    """
    whole_from = events_whole_from(remembered)
    by_instant = {entry["at"]: entry for entry in known}
    for process_events in grouped(events, "process").values():
        if any(event["kind"] == "job_state" for event in process_events):
            by_instant |= {entry["at"]: entry for entry in _log_outages(process_events, whole_from)}
    return sorted(by_instant.values(), key=lambda entry: int(entry["at"]))[-OUTAGES_KEPT:]


def words_of(outage: Row) -> tuple[str, Row]:
    parts = {"detect": outage["detect_ms"], **outage["parts_ms"]}
    reported = join_messages(
        (
            message(
                "{replace:name} {seconds:name}",
                replace=str(name.replace("_", " ")),
                seconds=_seconds(ms),
            )
            for name, ms in parts.items()
            if ms is not None
        ),
        ", ",
    )
    several = (
        message(", {outage:number} restarts", outage=len(outage["restarts"]))
        if len(outage["restarts"]) > 1
        else ""
    )
    detail = {
        "began_at": iso(outage["at"]),
        "all_tasks_running_at": iso(outage["ended_at"]),
        "downtime_ms": outage["downtime_ms"],
        "restarts": len(outage["restarts"]),
        "parts_ms": parts,
    }
    return message(
        "restart: down {seconds:name}{several:message} ({reported:name})",
        seconds=_seconds(outage["downtime_ms"]),
        several=several,
        reported=reported,
    ), detail


def _log_outages(events: Rows, whole_from: int) -> Iterator[Row]:
    """Outages in one JobManager's log. TaskManagers log tasks too, but by their own clocks."""
    failed: list[tuple[int, _Task]] = []
    outage: _Outage | None = None
    for event in ordered(events, "ts", "file", "offset", "record_hash", "ordinal"):
        kind, state, at = event["kind"], event["to_state"], event["ts"]
        if at < whole_from:
            continue
        task = event["task"], event["subtask"]
        if kind == "job_state":
            if state == "RESTARTING":
                if outage is None:
                    recent = [
                        failure for failure in failed if at - failure[0] <= DETECTED_WITHIN_MS
                    ]
                    outage = _Outage(
                        recent[0][0] if recent else None, {failure for _, failure in recent}
                    )
                    failed.clear()
                _restart(outage, at)
            elif state == "RUNNING" and outage is not None and outage.is_restarting:
                outage.running.append(at)
                if event["from_state"] == RECREATED:
                    # The new graph may have other tasks: those deployed from now on.
                    outage.down.clear()
            elif state in TERMINAL_STATES or state in ("FAILING", "CANCELLING", "SUSPENDED"):
                outage = None
        elif outage is None:
            if kind == "task_state" and state == "FAILED":
                failed.append((at, task))
        elif kind == "task_deployed" or (kind == "task_state" and state in _ENDED):
            outage.down.add(task)
            if state in _ENDED and outage.is_restarting:
                outage.cancelled[-1] = max(outage.cancelled[-1], at)
        elif kind == "task_state" and state == "INITIALIZING":
            outage.restoring_at = at
        elif kind == "task_state" and state == "RUNNING":
            outage.down.discard(task)
            if not outage.down and not outage.is_restarting:
                yield _outage_row(outage, at)
                outage = None


def _restart(outage: _Outage, at: int) -> None:
    if outage.is_restarting:
        # RESTARTING twice without RUNNING between them: the JobManager changed.
        outage.running.append(at)
    outage.restarts.append(at)
    outage.cancelled.append(at)
    outage.restoring_at = None


def _outage_row(outage: _Outage, ended_at: int) -> Row:
    begun_at, deployed_at = outage.restarts[0], outage.running[-1]
    restarts = list(zip(outage.restarts, outage.cancelled, outage.running, strict=True))
    failed_attempts_ms = sum(
        restarted - running
        for running, restarted in zip(outage.running, outage.restarts[1:], strict=False)
    )
    restoring_at = outage.restoring_at
    return {
        "at": begun_at,
        "restarts": list(outage.restarts),
        "ended_at": ended_at,
        "downtime_ms": ended_at - begun_at,
        "detect_ms": None if outage.failed_at is None else begun_at - outage.failed_at,
        "parts_ms": {
            "cancel": sum(cancelled - restarted for restarted, cancelled, _ in restarts),
            "wait": sum(running - cancelled for _, cancelled, running in restarts),
            "failed_attempts": failed_attempts_ms if len(restarts) > 1 else None,
            "redeploy": (ended_at if restoring_at is None else restoring_at) - deployed_at,
            "restore": None if restoring_at is None else ended_at - restoring_at,
        },
    }


def _seconds(duration_ms: int) -> str:
    return (
        message("{duration_ms:number} ms", duration_ms=duration_ms)
        if duration_ms < 1_000
        else f"{duration_ms / 1000:.1f} s"
    )
