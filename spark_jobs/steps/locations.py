"""Adds to log events their task's host and job, by the executions of their cluster."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ingest.flink_logs.patterns import STORE_KINDS
from spark_jobs.arrow_schemas import Batches, batch_with
from spark_jobs.diagnosis.pods import POD_KINDS
from spark_jobs.fold.rows import Row, Rows, rank
from spark_jobs.step_schemas import SERVED_EVENT
from spark_jobs.steps.executions import LOCATION
from spark_jobs.transforms.grouped_batches import groups
from spark_jobs.transforms.plain_rows import plain

OF_PROCESS = ("transaction_open", "transaction_lost", "transaction_timeout_set", *STORE_KINDS)
"""Lines of TaskManagers that name no task. They belong to the job whose tasks run there, if no
other job has tasks there.
"""
WORKER_ENDED = "worker_terminated"
"""This line only concerns a job if the worker had no task: the job waits for the worker."""
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
    *POD_KINDS,
    "state_skipped",
    "taskmanager_fatal",
    "zookeeper_lost",
)
"""Lines of the cluster's processes. They belong to its only known job."""
NAMED_BY = ("execution_id", "attempt", "container", "timeout_ms", "reason_text", "reason")
"""If all these columns of all events are empty, no event needs a location."""

_NAME = ("task", "subtask", "attempt")
_LACKING_WITH_NAME = ("job_id", "vertex_id", "container", "host")


def located_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    places = Places(None)
    for batch in batches:
        for group in groups([batch], {"events": ()}, keys=1):
            if group.key[0] != places.cluster:
                places = Places(group.key[0])
            places.take(group.rows("executions"))
            for events in group.arrays("events"):
                yield places.located(pa.RecordBatch.from_struct_array(events))


class Places:
    """A cluster's executions, and the jobs that its events named so far."""

    def __init__(self, cluster: str | None) -> None:
        self.cluster = cluster
        self._by_execution: dict[str, Row] = {}
        self._by_name: dict[Any, list[Row]] = defaultdict(list)
        self._received: dict[str, list[Row]] = defaultdict(list)
        """Executions that a TaskManager logged as received, by its log."""
        self._first_of_job: dict[str, Row] = {}
        self._named_jobs: set[str] = set()
        self._containers: set[str] = set()

    def take(self, executions: Rows) -> None:
        for row in executions:
            self._by_execution[row["execution_id"]] = row
            if row["job_id"] is not None and row["deployed_at"] is not None:
                self._containers.add(row["container"])
                first = self._first_of_job.setdefault(row["job_id"], row)
                if row["deployed_at"] < first["deployed_at"]:
                    self._first_of_job[row["job_id"]] = row
                name = tuple(row[part] for part in _NAME)
                if None not in name:
                    self._by_name[name].append(row)
                if row["log"] is not None:
                    self._received[row["log"]].append(row)

    def located(self, events: pa.RecordBatch) -> pa.RecordBatch:
        values_of = {
            name: plain(events[name])
            for name in ("kind", "process", "ts", "execution_id", *LOCATION)
        }
        self._named_jobs.update(filter(None, values_of["job_id"]))
        rows = zip(*values_of.values(), strict=True)
        for index, values in enumerate(rows):
            for name, value in self._missing_values(dict(zip(values_of, values, strict=True))):
                values_of[name][index] = value
        arrays = {
            name: pa.array(values_of[name], SERVED_EVENT.field(name).type) for name in LOCATION
        }
        arrays["cluster"] = pa.array([self.cluster] * events.num_rows, pa.string())
        return batch_with(events, SERVED_EVENT, **arrays)

    def _missing_values(self, event: Row) -> Iterator[tuple[str, Any]]:
        location, names = self._location(event)
        if location:
            yield from ((name, location[name]) for name in names if event[name] is None)

    def _location(self, event: Row) -> tuple[Row | None, tuple[str, ...]]:
        """The execution of the event's task or job, and the columns to take from it."""
        if event["execution_id"] is not None:
            return self._by_execution.get(event["execution_id"]), LOCATION
        if event["job_id"] is not None:
            return None, ()
        if event["attempt"] is not None:
            # The last deployed task of that name. If two jobs have such a task at the same time, it
            # may be of the other job.
            name = tuple(event[part] for part in _NAME)
            deployed = _deployed_until(self._by_name.get(name, ()), event["ts"])
            columns = ("deployed_at", *_LACKING_WITH_NAME)
            newest = max(
                deployed, key=lambda row: rank([row[name] for name in columns]), default=None
            )
            return newest, _LACKING_WITH_NAME
        if event["kind"] in OF_PROCESS:
            received = _deployed_until(self._received.get(event["process"], ()), event["ts"])
            if not received:
                return self._only_job(event["ts"]), ("job_id",)
            is_one_job = len({row["job_id"] for row in received}) == 1
            return received[0] if is_one_job else None, ("job_id",)
        if event["kind"] in OF_CLUSTER:
            if event["kind"] == WORKER_ENDED and event["container"] in self._containers:
                return None, ()
            return self._only_job(event["ts"]), ("job_id",)
        return None, ()

    def _only_job(self, at_ms: int) -> Row | None:
        deployed = {row["job_id"] for row in _deployed_until(self._first_of_job.values(), at_ms)}
        jobs = deployed | self._named_jobs
        return {"job_id": jobs.pop()} if len(jobs) == 1 else None


def _deployed_until(rows: Rows, at_ms: int) -> list[Row]:
    return [row for row in rows if row["deployed_at"] <= at_ms]
