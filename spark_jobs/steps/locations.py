from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from ingest.flink_logs.patterns import STORE_KINDS
from spark_jobs.fold.rows import Row, rank
from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.steps.executions import LOCATION
from spark_jobs.transforms.grouped_batches import groups
from spark_jobs.transforms.plain_rows import plain

OF_PROCESS = ("transaction_open", "transaction_lost", "transaction_timeout_set", *STORE_KINDS)
"""Lines of TaskManagers that name no task: of the only job whose tasks run there."""
WORKER_ENDED = "worker_terminated"
"""A worker without a deployed task is only a loss for the job that waits for it."""
OF_CLUSTER = (
    WORKER_ENDED,
    "worker_unregistered",
    "worker_request_failed",
    "association_quarantined",
    "cluster_shut_down",
    "enumeration_failed",
    "fatal_error",
    "global_restart",
    "leadership_lost",
    "program_failed",
    "registration_failed",
    "rpc_too_large",
    "jobmanager_fatal",
    "state_skipped",
    "taskmanager_fatal",
    "zookeeper_lost",
)
"""Lines of other processes belong to the cluster's only known job."""
NAMED_BY = ("execution_id", "attempt", "container", "timeout_ms", "reason_text", "reason")
"""Columns, at least one of which is filled if the place of a task matters."""

_NAME = ("task", "subtask", "attempt")
_BY_NAME = ("job_id", "vertex_id", "container", "host")


def located_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    places = Places(None)
    for batch in batches:
        for group in groups([batch], {"events": ()}, keys=1):
            if group.key[0] != places.cluster:
                places = Places(group.key[0])
            places.take(group.rows("executions"))
            for events in group.arrays("events"):
                yield places.located(pa.RecordBatch.from_struct_array(events))


class Places:
    def __init__(self, cluster: str | None) -> None:
        self.cluster = cluster
        self._ran: dict[str, Row] = {}
        self._runs: dict[Any, list[Row]] = defaultdict(list)
        self._came: dict[str, list[Row]] = defaultdict(list)
        """That a TaskManager logged as received, by log."""
        self._first_of_job: dict[str, Row] = {}
        self._named: set[str] = set()
        self._containers: set[str] = set()

    def take(self, executions: Iterable[Row]) -> None:
        for row in executions:
            self._ran[row["execution_id"]] = row
            if row["job_id"] is not None and row["deployed_at"] is not None:
                self._containers.add(row["container"])
                first = self._first_of_job.setdefault(row["job_id"], row)
                if row["deployed_at"] < first["deployed_at"]:
                    self._first_of_job[row["job_id"]] = row
                if None not in (name := tuple(row[part] for part in _NAME)):
                    self._runs[name].append(row)
                if row["log"] is not None:
                    self._came[row["log"]].append(row)

    def located(self, events: pa.RecordBatch) -> pa.RecordBatch:
        values_of = {
            name: plain(events[name])
            for name in ("kind", "process", "ts", "execution_id", *LOCATION)
        }
        self._named.update(filter(None, values_of["job_id"]))
        for place, event in enumerate(
            dict(zip(values_of, values, strict=True))
            for values in zip(*values_of.values(), strict=True)
        ):
            for name, value in self._lacking(event):
                values_of[name][place] = value
        made = {name: pa.array(values_of[name], SERVED_EVENT.field(name).type) for name in LOCATION}
        made["cluster"] = pa.array([self.cluster] * events.num_rows, pa.string())
        columns = [made[name] if name in made else events[name] for name in SERVED_EVENT.names]
        return pa.RecordBatch.from_arrays(columns, schema=SERVED_EVENT)

    def _lacking(self, event: Row) -> Iterator[tuple[str, Any]]:
        where, names = self._where(event)
        if where:
            yield from ((name, where[name]) for name in names if event[name] is None)

    def _where(self, event: Row) -> tuple[Row | None, tuple[str, ...]]:
        if event["execution_id"] is not None:
            return self._ran.get(event["execution_id"]), LOCATION
        if event["job_id"] is not None:
            return None, ()
        if event["attempt"] is not None:
            # The last deployed task of that name. With two jobs of one name at once, it may be the
            # other job's.
            before = _until(self._runs.get(tuple(event[name] for name in _NAME), ()), event["ts"])
            return max(before, key=_by_deployment, default=None), _BY_NAME
        if event["kind"] in OF_PROCESS:
            came = _until(self._came.get(event["process"], ()), event["ts"])
            if not came:
                return self._only_job(event["ts"]), ("job_id",)
            return came[0] if len({row["job_id"] for row in came}) == 1 else None, ("job_id",)
        if event["kind"] in OF_CLUSTER:
            if event["kind"] == WORKER_ENDED and event["container"] in self._containers:
                return None, ()
            return self._only_job(event["ts"]), ("job_id",)
        return None, ()

    def _only_job(self, at_ms: int) -> Row | None:
        deployed = {row["job_id"] for row in _until(self._first_of_job.values(), at_ms)}
        known = deployed | self._named
        return {"job_id": known.pop()} if len(known) == 1 else None


def _until(rows: Iterable[Row], at_ms: int) -> list[Row]:
    return [row for row in rows if row["deployed_at"] <= at_ms]


def _by_deployment(row: Row) -> Any:
    return rank([row["deployed_at"], *(row[name] for name in _BY_NAME)])
