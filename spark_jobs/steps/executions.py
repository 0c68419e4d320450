"""Where each attempt of a subtask ran, and its job, by a cluster's log. Executions are remembered:
a task may run for months.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ingest.flink_logs.event_parser import GRAPH_CREATED
from spark_jobs.arrow_schemas import Batches, batch_from_rows, fields_of
from spark_jobs.fold.rows import Row, RowList, Rows, largest, least, rank
from spark_jobs.step_schemas import EVENT, EXECUTION, UPDATED_EXECUTION
from spark_jobs.transforms.grouped_batches import groups

LOCATION = ("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
REPORTED = fields_of(EVENT, "cluster", "kind", "process", "ts", "execution_id", *LOCATION)
DEPLOYED, RECEIVED = "task_deployed", "task_received"
SUBTASK = ("job_id", "vertex_id", "task", "subtask")

REMEMBERED_DAYS = 7
"""Of a subtask's earlier attempts. Its newest attempt may still run."""
NEWEST_REMEMBERED_DAYS = 400
DAY_MS = 86_400_000


def report_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Events that name an execution, and the first event of each log that names a certain job."""
    named_jobs = set()
    for batch in batches:
        is_needed = []
        names = ("execution_id", "cluster", "process", "job_id")
        for execution_id, *job_of_log in zip(
            *(batch[name].to_pylist() for name in names), strict=True
        ):
            is_new_job = job_of_log[-1] is not None and tuple(job_of_log) not in named_jobs
            is_needed.append(execution_id is not None or is_new_job)
            named_jobs.add(tuple(job_of_log))
        yield batch.filter(pa.array(is_needed, pa.bool_()))


def updated_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    for group in groups(batches, keys=1):
        rows = executions(group.rows("reported"), group.rows("previous"))
        yield batch_from_rows(({**row, "cluster": group.key[0]} for row in rows), UPDATED_EXECUTION)


def newly_placed_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    return (batch.filter(batch["newly_placed"]).select(EXECUTION.names) for batch in batches)


def executions(events: RowList, previous: RowList) -> list[Row]:
    """``UPDATED_EXECUTION`` rows, one per attempt. ``previous``: the last result."""
    reports: dict[str, list[tuple[Any, Row]]] = defaultdict(list)
    for row in previous:
        reports[row["execution_id"]].append((_order(row["deployed_at"], True, None), row))
    for event in events:
        if event["execution_id"] is not None and event["kind"] != GRAPH_CREATED:
            order = _order(event["ts"], event["kind"] == DEPLOYED, event["process"])
            reports[event["execution_id"]].append((order, event))
    rows = [_merge(key, ordered_rows) for key, ordered_rows in reports.items()]
    _fill_in_jobs(rows, events, previous)
    placed_before = {row["execution_id"] for row in previous if _is_placed(row)}
    for row in rows:
        row["newly_placed"] = _is_placed(row) and row["execution_id"] not in placed_before
    return _newest(rows)


def _is_placed(row: Row) -> bool:
    return None not in (row["job_id"], row["task"], row["host"])


def _order(at: Any, is_deployment: bool, process: str | None) -> Any:
    return not is_deployment, rank(at), rank(process)


def _merge(execution_id: str, reports: list[tuple[Any, Row]]) -> Row:
    """One execution from lines and its previous row; deployments count first."""
    reports.sort(key=lambda report: report[0])
    rows = [row for _, row in reports]
    merged: Row = {"execution_id": execution_id}
    for name in LOCATION:
        merged[name] = next((row[name] for row in rows if row[name] is not None), None)
    deployed = [_time(row) for (is_later, *_), row in reports if not is_later]
    times = list(filter(None, deployed)) or filter(None, map(_time, rows))
    merged["deployed_at"] = min(times, default=None)
    merged["process"] = least(*(row.get("process") for row in rows))
    merged["log"] = largest(
        *(row["process"] if row.get("kind") == RECEIVED else row.get("log") for row in rows)
    )
    return merged


def _time(row: Row) -> Any:
    return row["ts"] if "ts" in row else row["deployed_at"]


def _fill_in_jobs(rows: Rows, events: Rows, previous: Rows) -> None:
    """Sets unknown jobs by the execution graph, else the only job of the log."""
    with_job = [event for event in events if event["job_id"] is not None]
    job_of_graph: dict[str, str] = {}
    for row in (*(event for event in with_job if event["execution_id"] is not None), *previous):
        if row["job_id"] is not None:
            graph = _graph(row["execution_id"])
            job_of_graph[graph] = min(job_of_graph.get(graph, row["job_id"]), row["job_id"])
    jobs_of_log: dict[Any, set[str]] = defaultdict(set)
    for event in with_job:
        jobs_of_log[event["process"]].add(event["job_id"])
    for row in rows:
        if row["job_id"] is None:
            jobs = jobs_of_log.get(row["process"], set())
            only_job = next(iter(jobs)) if len(jobs) == 1 else None
            row["job_id"] = job_of_graph.get(_graph(row["execution_id"]), only_job)


def _graph(execution_id: str) -> str:
    return execution_id.partition("_")[0]


def _newest(rows: RowList) -> list[Row]:
    deployed = [row for row in rows if row["deployed_at"] is not None]
    newest_day = max((row["deployed_at"] // DAY_MS for row in deployed), default=0)
    deployed.sort(key=lambda row: (-row["deployed_at"], row["execution_id"]))
    kept, known_subtasks = [], set()
    for row in deployed:
        subtask = tuple(row[name] for name in SUBTASK)
        age_days = newest_day - row["deployed_at"] // DAY_MS
        is_newest = subtask not in known_subtasks
        if age_days <= REMEMBERED_DAYS or (is_newest and age_days <= NEWEST_REMEMBERED_DAYS):
            kept.append(row)
        known_subtasks.add(subtask)
    return kept
