"""Starts of a job and their phases, by REST (``vertex_starts``) or the JobManager's log. *graph*:
until the job is RUNNING; under the adaptive scheduler also the wait for slots. A restart has
*cancel*, *wait* and *failed_attempts* instead (``downtime``); without a log, all of it is *wait*.
*slots*: until the last task has its slot. *deploy*: until the last task begins to restore (before
1.14, until it runs). *restore*: until the last task runs. They add up to the time from the
submission, or from RESTARTING, until all tasks run.

``detail.initialization``: what Flink's span JobInitialization has of this start, which no other
source has. It splits the time of each task from its creation until it runs; a span alone is no
start, as it names no tasks.
"""

import json
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from spark_jobs.diagnosis.window_contents import STARTS
from spark_jobs.fold.checkpoint_log import Names
from spark_jobs.fold.retention import INITIALIZED
from spark_jobs.fold.rows import Row, RowList, Rows
from spark_jobs.fold.start_summary import summary
from spark_jobs.fold.start_tasks import CLOCK_MS, latest, tasks_by_log, tasks_by_rest

SAME_MS = 1_000
REPORTED_BY = frozenset({"job_state", "job_submitted", "task_deployed", "task_state", INITIALIZED})
_PHASES_BEFORE = ("detect", "graph", "cancel", "wait", "failed_attempts")
PARTS = (*_PHASES_BEFORE, "slots", "deploy", "restore")


class Life(NamedTuple):
    """``remembered``: earlier events. ``names``: by vertex."""

    answers: RowList
    events: RowList
    remembered: RowList
    states: Sequence[tuple[int, str]]
    outages: RowList
    names: Names


def job_starts(life: Life, new_rows: Rows, known: RowList) -> list[Row]:
    """The newest starts after which all tasks ran, oldest first. ``new_rows``: of
    ``vertex_starts``; ``known``: earlier results. REST is preferred to the log.
    """
    begins = _begins(life, known)
    by_instant = {entry["at"]: entry for entry in known}
    for source, tasks_of in (
        ("log", tasks_by_log(life.events, life.remembered, begins)),
        ("rest", tasks_by_rest(new_rows, begins)),
    ):
        for at, tasks in tasks_of.items():
            before = by_instant.get(at)
            # After the restart of a region REST reports the start of the other tasks again.
            if before is None or (source, len(tasks)) > (before["reported_by"], before["tasks"]):
                by_instant[at] = {"at": at, "reported_by": source, **summary(tasks, life.names)}
    for at, initialization in _initializations(life.events, begins).items():
        if at in by_instant:
            start = by_instant[at]
            detail = {**start["detail"], "initialization": initialization}
            by_instant[at] = {**start, "detail": detail}
    kept = sorted(by_instant.values(), key=lambda entry: int(entry["at"]))[-STARTS:]
    return [{**entry, **_beginning(entry, life, begins)} for entry in kept]


def _initializations(events: RowList, begins: Sequence[int]) -> dict[int, Row]:
    """By start, the last one that ended after it began; ``parts_ms``: longest and sum."""
    reported = (event for event in events if event["kind"] == INITIALIZED)
    return {
        at: {
            "state": event["to_state"],
            "duration_ms": event["duration_ms"],
            "checkpoint_id": event["checkpoint_id"],
            "state_bytes": event["state_bytes"],
            "parts_ms": json.loads(event["detail"]),
        }
        for event in reported
        if (at := latest(begins, event["ts"] + CLOCK_MS)) is not None
    }


def _begins(life: Life, known: RowList) -> list[int]:
    """When each start began: by an earlier result, else REST, else the log."""
    by_rest = {
        entry["since"]
        for answer in life.answers
        for entry in answer["state_since"] or ()
        if entry["state"] == "RUNNING"
    }
    by_log = (at for at, state in life.states if state == "RUNNING")
    begins: list[int] = []
    for at in chain((entry["at"] for entry in known), sorted(by_rest - {None}), by_log):
        if not any(abs(at - other) <= SAME_MS for other in begins):
            begins.append(at)
    return sorted(begins)


def _beginning(start: Row, life: Life, begins: Sequence[int]) -> Row:
    at = start["at"]
    kind, begun_at, restarts, parts = _before(at, life, begins)
    if start.get("begun_at") is not None and "cancel" not in parts:
        kind, restarts = start["kind"], start.get("restarts")
        begun_at = start["begun_at"]
        parts = {name: start[f"{name}_ms"] for name in _PHASES_BEFORE}
    if kind == "restart" and (start.get("kind") == "rescale" or _is_rescaled(life.answers, at)):
        kind = "rescale"
    return {
        "kind": kind,
        "begun_at": begun_at,
        "total_ms": _elapsed_ms(begun_at, start["running_at"]),
        "restarts": restarts,
        **{f"{name}_ms": parts.get(name) for name in _PHASES_BEFORE},
        "slots_ms": max(start["deployed_at"] - at, 0),
        "as_of": start["running_at"],
    }


def _before(at: int, life: Life, begins: Sequence[int]) -> tuple[str, int | None, int | None, Row]:
    """Kind, begin, number of restarts, and ms of phases before ``at``."""
    outage = next(
        (
            outage
            for outage in life.outages
            if outage["at"] <= at + SAME_MS and at <= outage["ended_at"]
        ),
        None,
    )
    if outage:
        before = outage["parts_ms"]
        # REST may date RUNNING some milliseconds apart.
        wait_ms = at - outage["at"] - before["cancel"] - (before["failed_attempts"] or 0)
        return (
            "restart",
            outage["at"],
            len(outage["restarts"]),
            {"detect": outage["detect_ms"], **before, "wait": max(wait_ms, 0)},
        )
    previous_start = latest(begins, at - SAME_MS) or 0
    by_log = (event["ts"] for event in life.events if event["kind"] == "job_submitted")
    submissions = [
        since
        for since in chain((answer["start_time"] for answer in life.answers), by_log)
        if since is not None and since > previous_start
    ]
    begun_at = latest(submissions, at)
    # The adaptive scheduler cancels running tasks and makes a new execution graph.
    stops = [
        since
        for since, state in life.states
        if state in ("RESTARTING", "CANCELLING") and previous_start < since <= at
    ]
    if begun_at is not None or not stops:
        return "start", begun_at, None, {"graph": _elapsed_ms(begun_at, at)}
    cancelled_at = latest(
        (since for since, state in life.states if state == "CANCELED" and since > stops[0]), at
    )
    parts = {} if cancelled_at is None else {"cancel": cancelled_at - stops[0]}
    return (
        "restart",
        stops[0],
        1,
        {**parts, "wait": at - (stops[0] if cancelled_at is None else cancelled_at)},
    )


def _elapsed_ms(begun_at: int | None, ended_at: int) -> int | None:
    return None if begun_at is None else ended_at - begun_at


def _is_rescaled(answers: RowList, at: int) -> bool:
    plans = [
        (answer["observed_at"], _parallelism(answer)) for answer in answers if answer["vertices"]
    ]
    before = [parallelism for observed_at, parallelism in plans if observed_at < at]
    after = [parallelism for observed_at, parallelism in plans if observed_at > at]
    return bool(before and after) and any(
        after[0].get(vertex, size) != size for vertex, size in before[-1].items()
    )


def _parallelism(answer: Row) -> dict[str, int]:
    return {
        vertex["vertex_id"]: vertex["parallelism"]
        for vertex in answer["vertices"]
        if vertex["parallelism"] is not None
    }
