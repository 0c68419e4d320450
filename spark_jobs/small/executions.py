"""Where each attempt of a subtask ran, over plain rows; what :mod:`spark_jobs.transforms.executions` gives, where the rules stand."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ingest.flink_logs.task_locations import GRAPH_CREATED
from spark_jobs.fold.lost_taskmanagers import COLUMNS as TASKMANAGER_LINE
from spark_jobs.fold.lost_taskmanagers import KINDS_OF_LOSS, NOTICED_WITHIN_S
from spark_jobs.small.rows import Row
from spark_jobs.spans import EPOCH
from spark_jobs.step_schemas import EXECUTION

NAME = ("task", "subtask", "attempt")
LOCATION = ("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
COLUMNS = tuple(EXECUTION.names)

SUBTASK = ("cluster", "job_id", "vertex_id", "task", "subtask")
NOTICED_WITHIN = timedelta(seconds=NOTICED_WITHIN_S)
RECEIVED = "task_received"
OF_PROCESS = ("transaction_open", "transaction_lost", "transaction_timeout_set")
"""Lines of TaskManagers that name no task: they are of the job whose tasks run there, where that is one job."""
OF_PROCESS_HOLDS = "timeout_ms"
"""A column that all of them fill, and no other line."""

CARRIED_DAYS = 7
"""Older attempts are forgotten, but the newest of each subtask, which may still run, only after ``NEWEST_DAYS``."""
NEWEST_DAYS = 400

ExecutionKey = tuple[str, str]
"""Cluster and execution."""


def executions(events: Sequence[Row], carried: Sequence[Row]) -> list[Row]:
    """What these events and earlier runs (``carried``: an earlier result) reported, one row of ``COLUMNS`` per attempt."""
    tellings: dict[ExecutionKey, list[tuple[Any, Row]]] = defaultdict(list)
    for row in carried:
        tellings[row["cluster"], row["execution_id"]].append((_order(row["deployed_at"], True, None), row))
    for event in events:
        if event["execution_id"] is not None and event["kind"] != GRAPH_CREATED:
            order = _order(event["ts"], event["kind"] == "task_deployed", event["process"])
            tellings[event["cluster"], event["execution_id"]].append((order, event))
    known = [_learnt(key, reported) for key, reported in tellings.items()]
    _take_deploy_lines_without_id(known, events)
    _take_jobs(known, events, carried)
    return [{name: row[name] for name in COLUMNS} for row in _newest(known)]


def newly_placed(now: Iterable[Row], carried: Iterable[Row]) -> list[Row]:
    """Executions whose job, task and host are known ``now`` and were not in an earlier result (``carried``)."""

    def is_placed(row: Row) -> bool:
        return row["job_id"] is not None and row["task"] is not None and row["host"] is not None

    before = {(row["cluster"], row["execution_id"]) for row in carried if is_placed(row)}
    return [row for row in now if is_placed(row) and (row["cluster"], row["execution_id"]) not in before]


def locate(events: Iterable[Row], executions: Iterable[Row]) -> list[Row]:
    """Events with what is known of their execution filled in where they lack it."""
    ran = {(row["cluster"], row["execution_id"]): row for row in executions}
    runs: dict[Any, list[Row]] = defaultdict(list)
    for row in ran.values():
        if None not in (row["job_id"], row["deployed_at"], *(row[name] for name in NAME)):
            runs[row["cluster"], *(row[name] for name in NAME)].append(row)
    for of_name in runs.values():
        of_name.sort(key=_by_deployment)
    return [_located(event, ran, runs) for event in events]


def locate_by_process(events: Iterable[Row], executions: Iterable[Row]) -> list[Row]:
    """Events; lines that name no task have the job whose tasks run in their process, where until then only one came there."""
    came: dict[tuple[str, str], list[tuple[Any, str]]] = defaultdict(list)
    for row in executions:
        if None not in (row["log"], row["job_id"], row["deployed_at"]):
            came[row["cluster"], row["log"]].append((row["deployed_at"], row["job_id"]))
    located = []
    for event in events:
        if event["kind"] in OF_PROCESS and event["job_id"] is None:
            there = {job_id for at, job_id in came.get((event["cluster"], event["process"]), ()) if at <= event["ts"]}
            located.append(event | {"job_id": there.pop()} if len(there) == 1 else event)
        else:
            located.append(event)
    return located


def of_taskmanagers(events: Iterable[Row], executions: Iterable[Row]) -> list[Row]:
    """Lines about the end of a TaskManager, one for each job that had tasks there, or had until lately."""
    reported: dict[ExecutionKey, list[Row]] = defaultdict(list)
    for event in events:
        if event["kind"] in KINDS_OF_LOSS and event["container"] is not None:
            reported[event["cluster"], event["container"]].append(event)
    places: dict[Any, list[Row]] = defaultdict(list)
    for row in executions:
        if row["job_id"] is not None and row["deployed_at"] is not None:
            places[tuple(row[name] for name in SUBTASK)].append(row)
    found = {}
    for of_subtask in places.values():
        of_subtask.sort(key=lambda row: (row["deployed_at"], row["execution_id"]))
        for row, following in zip(of_subtask, [*of_subtask[1:], None], strict=True):
            left_at = following["deployed_at"] if following else None
            for event in reported.get((row["cluster"], row["container"]), ()):
                if row["deployed_at"] <= event["ts"] and (left_at is None or left_at >= event["ts"] - NOTICED_WITHIN):
                    line = {"cluster": row["cluster"], "job_id": row["job_id"], **{name: event[name] for name in TASKMANAGER_LINE}}
                    found[tuple(line.values())] = line
    return list(found.values())


def _located(event: Row, ran: Mapping[ExecutionKey, Row], runs: Mapping[Any, Sequence[Row]]) -> Row:
    """Lines that name task, subtask and attempt without an id mean the one of that name deployed last before them."""
    names: tuple[str, ...]
    if event["execution_id"] is not None:
        where, names = ran.get((event["cluster"], event["execution_id"])), LOCATION
    elif event["job_id"] is None and event["attempt"] is not None:
        of_name = runs.get((event["cluster"], *(event[name] for name in NAME)), ())
        before = [row for row in of_name if row["deployed_at"] <= event["ts"]]
        where, names = (before[-1] if before else None), ("job_id", "vertex_id", "container", "host")
    else:
        return event
    return event | {name: where[name] for name in names if event[name] is None} if where else event


def _by_deployment(row: Row) -> Any:
    return row["deployed_at"], *(_nulls_first(row[name]) for name in ("job_id", "vertex_id", "container", "host"))


def _order(at: Any, by_deploy: bool, process: str | None) -> Any:
    """A deploy line knows best; among the others what was reported first stays."""
    return not by_deploy, _nulls_first(at), _nulls_first(process)


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _learnt(key: ExecutionKey, reported: list[tuple[Any, Row]]) -> Row:
    reported.sort(key=lambda one: one[0])
    row: Row = {"cluster": key[0], "execution_id": key[1]}
    for name in LOCATION:
        row[name] = next((of[name] for _, of in reported if of[name] is not None), None)
    times = [_time(of) for _, of in reported]
    deployed = [_time(of) for (later, *_), of in reported if not later]
    row["first_told"] = min((at for at in times if at is not None), default=None)
    row["deployed_at"] = min((at for at in deployed if at is not None), default=None)
    row["process"] = min((of["process"] for _, of in reported if of.get("process") is not None), default=None)
    row["log"] = max((log for _, of in reported if (log := of["process"] if of.get("kind") == RECEIVED else of.get("log"))), default=None)
    return row


def _time(row: Row) -> Any:
    return row["ts"] if "ts" in row else row["deployed_at"]


def _take_deploy_lines_without_id(known: Sequence[Row], events: Iterable[Row]) -> None:
    """Up to 1.11 a deploy line names task and attempt only: the first one after the attempt was first reported is meant."""
    lines: dict[Any, list[Row]] = defaultdict(list)
    for event in events:
        if event["kind"] == "task_deployed" and event["execution_id"] is None and (name := _subtask_of_log(event)):
            lines[name].append(event)
    for row in known:
        meant = None
        if row["host"] is None and row["task"] is not None and row["first_told"] is not None:
            after = (line for line in lines.get(_subtask_of_log(row), ()) if line["ts"] >= row["first_told"])
            meant = min(after, key=_by_content, default=None)
        if meant:
            row |= {name: meant[name] for name in ("attempt", "container", "host") if row[name] is None}
        if row["deployed_at"] is None:
            row["deployed_at"] = meant["ts"] if meant else row["first_told"]


def _subtask_of_log(row: Row) -> Any:
    """None where it is not known whose the row is."""
    name = tuple(row[part] for part in ("cluster", "process", "task", "subtask"))
    return None if None in name else name


def _by_content(line: Row) -> Any:
    return tuple(_nulls_first(line[name]) for name in ("ts", "attempt", "container", "host"))


def _take_jobs(known: Iterable[Row], events: Iterable[Row], carried: Iterable[Row]) -> None:
    """The job: from a line that names both, else from the execution graph, else where a log tells of one job only."""
    with_job = [event for event in events if event["job_id"] is not None]
    of_graph: dict[ExecutionKey, str] = {}
    for row in (*(event for event in with_job if event["execution_id"] is not None), *carried):
        if row["job_id"] is not None:
            graph = row["cluster"], _graph(row["execution_id"])
            of_graph[graph] = min(of_graph.get(graph, row["job_id"]), row["job_id"])
    of_log: dict[Any, set[str]] = defaultdict(set)
    for event in with_job:
        of_log[event["cluster"], event["process"]].add(event["job_id"])
    for row in known:
        if row["job_id"] is None:
            only = of_log.get((row["cluster"], row["process"]), set())
            alone = next(iter(only)) if len(only) == 1 else None
            row["job_id"] = of_graph.get((row["cluster"], _graph(row["execution_id"])), alone)


def _graph(execution_id: str) -> str:
    return execution_id.partition("_")[0]


def _newest(rows: Sequence[Row]) -> list[Row]:
    newest_day: dict[str, Any] = {}
    places: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        if row["deployed_at"] is not None:
            newest_day[row["cluster"]] = max(newest_day.get(row["cluster"], EPOCH), row["deployed_at"])
        places[tuple(row[name] for name in SUBTASK)].append(row)
    kept = []
    for of_subtask in places.values():
        of_subtask.sort(key=lambda row: row["execution_id"])
        of_subtask.sort(key=lambda row: _nulls_first(row["deployed_at"]), reverse=True)
        for place, row in enumerate(of_subtask):
            if row["deployed_at"] is None:
                continue
            age_days = (newest_day[row["cluster"]].date() - row["deployed_at"].date()).days
            if age_days <= CARRIED_DAYS or (place == 0 and age_days <= NEWEST_DAYS):
                kept.append(row)
    return kept
