"""Where each attempt of a subtask ran, and its job, from the log lines of a cluster. Executions are
carried from run to run: a task may run for months after its deploy line.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ingest.flink_logs.event_parser import GRAPH_CREATED
from spark_jobs.arrow_schemas import batch_from_rows
from spark_jobs.fold.rows import Row, largest, least, rank
from spark_jobs.step_schemas import EVENT, EXECUTION, UPDATED_EXECUTION
from spark_jobs.transforms.grouped_batches import groups

LOCATION = ("job_id", "vertex_id", "task", "subtask", "attempt", "container", "host")
REPORTED = pa.schema(
    [EVENT.field(name) for name in ("cluster", "kind", "process", "ts", "execution_id", *LOCATION)]
)
DEPLOYED, RECEIVED = "task_deployed", "task_received"
SUBTASK = ("job_id", "vertex_id", "task", "subtask")

CARRIED_DAYS = 7
"""The newest attempt of each subtask may still run, and is forgotten after ``NEWEST_DAYS``."""
NEWEST_DAYS = 400
DAY_MS = 86_400_000


def report_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    named = set()
    for batch in batches:
        is_needed = []
        names = ("execution_id", "cluster", "process", "job_id")
        for execution_id, *of_log in zip(*(batch[name].to_pylist() for name in names), strict=True):
            names_job = of_log[-1] is not None and tuple(of_log) not in named
            is_needed.append(execution_id is not None or names_job)
            named.add(tuple(of_log))
        yield batch.filter(pa.array(is_needed, pa.bool_()))


def learnt_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for group in groups(batches, keys=1):
        rows = executions(group.rows("reported"), group.rows("carried"))
        yield batch_from_rows(({**row, "cluster": group.key[0]} for row in rows), UPDATED_EXECUTION)


def newly_placed_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.filter(batch["newly_placed"]).select(EXECUTION.names) for batch in batches)


def executions(events: Sequence[Row], carried: Sequence[Row]) -> list[dict[str, Any]]:
    """A row per attempt. ``carried``: an earlier result. ``newly_placed``: job, task and host have
    become known.
    """
    tellings: dict[str, list[tuple[Any, Row]]] = defaultdict(list)
    for row in carried:
        tellings[row["execution_id"]].append((_order(row["deployed_at"], True, None), row))
    for event in events:
        if event["execution_id"] is not None and event["kind"] != GRAPH_CREATED:
            order = _order(event["ts"], event["kind"] == DEPLOYED, event["process"])
            tellings[event["execution_id"]].append((order, event))
    known = [_learnt(key, reported) for key, reported in tellings.items()]
    _take_jobs(known, events, carried)
    placed_before = {row["execution_id"] for row in carried if _is_placed(row)}
    for row in known:
        row["newly_placed"] = _is_placed(row) and row["execution_id"] not in placed_before
    return _newest(known)


def _is_placed(row: Row) -> bool:
    return None not in (row["job_id"], row["task"], row["host"])


def _order(at: Any, by_deploy: bool, process: str | None) -> Any:
    return not by_deploy, rank(at), rank(process)


def _learnt(execution_id: str, reported: list[tuple[Any, Row]]) -> dict[str, Any]:
    reported.sort(key=lambda pair: pair[0])
    row: dict[str, Any] = {"execution_id": execution_id}
    for name in LOCATION:
        row[name] = next((of[name] for _, of in reported if of[name] is not None), None)
    deployed = [_time(of) for (later, *_), of in reported if not later]
    times = list(filter(None, deployed)) or filter(None, (_time(of) for _, of in reported))
    row["deployed_at"] = min(times, default=None)
    row["process"] = least(*(of.get("process") for _, of in reported))
    logs = (of["process"] if of.get("kind") == RECEIVED else of.get("log") for _, of in reported)
    row["log"] = largest(*logs)
    return row


def _time(row: Row) -> Any:
    return row["ts"] if "ts" in row else row["deployed_at"]


def _take_jobs(
    known: Iterable[dict[str, Any]], reported: Iterable[Row], carried: Iterable[Row]
) -> None:
    """From a line that names both, else from the execution graph, else if the log has only one job."""
    with_job = [event for event in reported if event["job_id"] is not None]
    of_graph: dict[str, str] = {}
    for row in (*(event for event in with_job if event["execution_id"] is not None), *carried):
        if row["job_id"] is not None:
            graph = _graph(row["execution_id"])
            of_graph[graph] = min(of_graph.get(graph, row["job_id"]), row["job_id"])
    of_log: dict[Any, set[str]] = defaultdict(set)
    for event in with_job:
        of_log[event["process"]].add(event["job_id"])
    for row in known:
        if row["job_id"] is None:
            only = of_log.get(row["process"], set())
            alone = next(iter(only)) if len(only) == 1 else None
            row["job_id"] = of_graph.get(_graph(row["execution_id"]), alone)


def _graph(execution_id: str) -> str:
    return execution_id.partition("_")[0]


def _newest(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    dated = [row for row in rows if row["deployed_at"] is not None]
    newest_day = max((row["deployed_at"] // DAY_MS for row in dated), default=0)
    dated.sort(key=lambda row: (-row["deployed_at"], row["execution_id"]))
    kept, seen = [], set()
    for row in dated:
        subtask = tuple(row[name] for name in SUBTASK)
        age_days = newest_day - row["deployed_at"] // DAY_MS
        if age_days <= CARRIED_DAYS or (subtask not in seen and age_days <= NEWEST_DAYS):
            kept.append(row)
        seen.add(subtask)
    return kept
