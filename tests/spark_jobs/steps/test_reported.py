"""Rows of the lake in the columns of what is served, and samples of TaskManagers as those of the
jobs that have slots there.
"""

from typing import Any

import pyarrow as pa

from ingest.lake.tables import TABLES
from ingest.traces import shortened
from spark_jobs.small.tables import map_rows
from spark_jobs.step_schemas import TASKMANAGER
from spark_jobs.steps.reported import (
    EXCEPTION,
    STACKTRACE_CHARS,
    exception_batches,
    taskmanager_batches,
)
from tests.ingest.test_traces import DEEP
from tests.rows import AWARE as noon
from tests.rows import Row, lake_values

FAILED = {
    "ts": noon(5),
    "task": "map (1/2) - execution #0",
    "exception_name": "java.io.IOException",
    "is_root": True,
}
ONE, OTHER = "a" * 32, "b" * 32


def lake_table(name: str, *rows: Row) -> pa.Table:
    return pa.Table.from_pylist(list(lake_values(name, rows, noon)), TABLES[name].schema)


def exceptions(*rows: Row) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = map_rows(
        lake_table("exceptions", *rows), exception_batches, EXCEPTION
    ).to_pylist()
    return found


def test_a_global_failure_has_an_empty_task_key_and_an_unnamed_one_a_name() -> None:
    (row,) = exceptions(FAILED | {"task": None, "exception_name": None})
    assert (row["task_key"], row["task"], row["exception_name"]) == ("", None, "unknown")


def test_the_host_is_the_endpoint_without_its_port() -> None:
    rows = [FAILED | {"endpoint": endpoint} for endpoint in ("tm-1:4447", "[::1]:4447", "tm-2")]
    assert [row["host"] for row in exceptions(*rows)] == ["tm-1", "[::1]", "tm-2"]


def test_a_long_trace_is_cut() -> None:
    early, none = f"a.B: c\n\tat d\nCaused by: e.F: g\n{'x' * 60_000}", "x" * 60_000
    traces = [
        None,
        "",
        "short\nCaused by: a.B: c",
        none,
        early,
        DEEP,
        DEEP * 3,
        f"{DEEP}\nCaused by: {none}",
    ]
    rows = exceptions(*(FAILED | {"stacktrace": trace} for trace in traces))
    expected = [trace and shortened(trace, STACKTRACE_CHARS) for trace in traces]
    assert [row["stacktrace"] for row in rows] == expected
    assert "Quota.java:41" in (expected[5] or "")


def test_each_job_with_slots_on_a_taskmanager_gets_its_samples_once() -> None:
    def sampled(name: str, *jobs: str | None, at: int = 0) -> Row:
        slots = (
            None if jobs == (None,) else [{"job_id": job_id, "cpu_cores": 0.25} for job_id in jobs]
        )
        return {
            "cluster": "c",
            "taskmanager_id": name,
            "ts": noon(at),
            "gc_ms": 7,
            "allocated_slots": slots,
        }

    rows = [
        sampled("tm-1", ONE, ONE, OTHER),
        sampled("tm-1", ONE, at=5),
        sampled("tm-2"),
        sampled("tm-3", None),
    ]
    found = map_rows(
        lake_table("taskmanagers", *rows), taskmanager_batches, TASKMANAGER
    ).to_pylist()
    told = sorted((row["job_id"], row["taskmanager_id"], row["ts"], row["gc_ms"]) for row in found)
    assert told == [
        (ONE, "tm-1", noon(0), 7),
        (ONE, "tm-1", noon(5), 7),
        (OTHER, "tm-1", noon(0), 7),
    ]
