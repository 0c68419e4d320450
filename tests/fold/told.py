"""Anything that may be told of one job, as hypothesis makes it up: few ids and few instants, so
that much ties and repeats.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from ingest.job_states import NOT_LISTED
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.job_update import JobUpdate
from tests.fold.rows import JOB, VERTEX, events, lake, noon, serving

Strategy = st.SearchStrategy[Any]
Rows = st.SearchStrategy[list[dict[str, Any]]]

VERTICES = (VERTEX, "b" * 32)
instants = st.integers(0, 30).map(lambda number: noon(10 * number))
late = st.integers(0, 3).map(lambda number: noon(400 + number))
sizes = st.none() | st.sampled_from([0, 1, 5_000_000, 90_000_000])
flags = st.none() | st.booleans()
vertices = st.sampled_from(VERTICES)
numbers = st.integers(1, 4)
states = st.sampled_from(["RUNNING", "RESTARTING", "FAILING", "FINISHED", "CANCELED"])
perhaps_instants = st.none() | instants


def _rows(
    make: Callable[[list[dict[str, Any]]], list[dict[str, Any]]],
    most: int = 12,
    /,
    **fields: Strategy,
) -> Rows:
    return st.lists(st.fixed_dictionaries(fields), max_size=most).map(make)


def _of(table: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda rows: lake(table, rows)


def _serving(table: str) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda rows: serving(table, rows)


def _lines(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The hash of a record tells its text, and so its kind."""
    return events([{**row, "record_hash": f"{row['kind']} {row['record_hash']}"} for row in rows])


def _two(values: Strategy) -> Strategy:
    return st.none() | st.lists(values, min_size=2, max_size=2)


ANSWERS = _rows(
    _of("jobs"),
    observed_at=instants,
    commit_seq=st.integers(1, 2),
    name=st.sampled_from([None, "orders"]),
    state=st.none() | states | st.just(NOT_LISTED),
    start_time=perhaps_instants,
    end_time=perhaps_instants,
    restarts=st.none() | st.integers(0, 3),
    restored_at=perhaps_instants,
    restored_checkpoint_id=st.none() | numbers,
    restored_is_savepoint=flags,
    restored_path=st.sampled_from([None, f"file:/c/{JOB}/chk-1", "file:/s"]),
    state_since=st.none()
    | st.lists(st.fixed_dictionaries({"state": states, "since": perhaps_instants}), max_size=2),
    vertices=st.none()
    | st.lists(
        st.fixed_dictionaries(
            {
                "vertex_id": vertices,
                "name": st.sampled_from([None, "map"]),
                "parallelism": st.none() | st.integers(1, 2),
            }
        ),
        max_size=2,
        unique_by=lambda vertex: vertex["vertex_id"],
    ),
    checkpoint_timeout_ms=st.sampled_from([None, 1000, 600_000]),
    checkpointing_mode=st.sampled_from([None, "exactly_once"]),
    configuration=st.none()
    | st.lists(
        st.fixed_dictionaries({"key": st.just("a"), "value": st.sampled_from([None, "1"])}),
        max_size=2,
    ),
)
CHECKPOINTS = _rows(
    _of("checkpoints"),
    checkpoint_id=numbers,
    trigger_time=instants,
    observed_at=instants,
    status=st.sampled_from([None, "IN_PROGRESS", "COMPLETED", "FAILED"]),
    state_bytes=sizes,
    checkpointed_bytes=sizes,
    end_to_end_ms=st.sampled_from([None, 0, 700]),
    is_savepoint=flags,
    external_path=st.sampled_from([None, f"file:/c/{JOB}/chk-1", f"file:///c/{JOB}/chk-2"]),
    subtasks=st.sampled_from([None, 2]),
    acknowledged=st.sampled_from([None, 0, 2]),
    failure_time=perhaps_instants,
    failure_message=st.sampled_from(
        [None, "Checkpoint expired before completing.", "Task has failed.", "Something new"]
    ),
)
PARTS = _rows(
    _of("vertex_checkpoints"),
    checkpoint_id=numbers,
    trigger_time=instants,
    observed_at=instants,
    vertex_id=vertices,
    status=st.sampled_from([None, "IN_PROGRESS", "COMPLETED"]),
    subtasks=st.just(2),
    acknowledged=st.integers(0, 2),
    subtask_ack_time=_two(perhaps_instants),
    subtask_end_to_end_ms=_two(st.sampled_from([None, 5, 700])),
    subtask_sync_ms=_two(st.integers(0, 9)),
    subtask_state_bytes=_two(st.integers(0, 9)),
    subtask_checkpointed_bytes=_two(st.integers(0, 9)),
)
EVENTS = _rows(
    _lines,
    ts=instants,
    observed_at=late,
    kind=st.sampled_from(
        [
            *KINDS_OF_CHECKPOINT,
            "job_state",
            "job_submitted",
            "restored",
            "task_state",
            "coordinator_stopped",
            "tm_registered",
        ]
    ),
    record_hash=st.sampled_from("abc"),
    process=st.sampled_from(["jm.log", "tm.log"]),
    offset=st.integers(0, 2),
    checkpoint_id=st.none() | numbers,
    trigger_time=st.none() | instants,
    to_state=st.none() | states,
    task=st.sampled_from([None, "map"]),
    reason_text=st.sampled_from([None, "disk full"]),
    checkpoint_type=st.sampled_from([None, "Checkpoint", "Savepoint"]),
    vertex_id=st.none() | vertices,
    duration_ms=st.sampled_from([None, 900]),
    state_bytes=sizes,
)
PLACEMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "job_id": st.just(JOB),
            "vertex_id": vertices,
            "ts": instants,
            "host": st.none() | st.lists(st.sampled_from([None, "a", "b"]), max_size=2),
            "attempt": st.none() | st.lists(st.integers(0, 1), max_size=2),
        }
    ),
    max_size=12,
)
STARTS = _rows(
    _of("vertex_starts"),
    2,
    ts=instants,
    observed_at=instants,
    vertex_id=vertices,
    attempt=_two(st.integers(0, 1)),
    host=_two(st.sampled_from([None, "a", "b"])),
    taskmanager_id=_two(st.sampled_from(["tm-a", "tm-b"])),
    scheduled_at=_two(perhaps_instants),
    deploying_at=_two(perhaps_instants),
    initializing_at=_two(perhaps_instants),
    running_at=_two(perhaps_instants),
)
GAUGES = _rows(
    _of("vertex_gauges"),
    ts=instants,
    observed_at=late,
    vertex_id=vertices,
    writes_stopped=st.sampled_from([None, 0, 2]),
)
PRESSURE = _rows(
    _serving("pressure_window"),
    vertex_id=vertices,
    window_start=instants,
    busy_share=st.sampled_from([None, 0.5]),
    as_of=instants,
)
FAILURES = _rows(
    _serving("job_exception"),
    ts=instants,
    task_key=st.sampled_from(["", "map (1/2)"]),
    exception_name=st.sampled_from(["x", "y"]),
    is_root=flags,
    as_of=instants,
    stacktrace=st.sampled_from([None, "x: y"]),
)
UPLOADED = _rows(
    _serving("checkpoint_upload"),
    checkpoint_id=numbers,
    trigger_time=instants,
    as_of=instants,
    kept_bytes=st.sampled_from([0, 9]),
)
TASKMANAGERS = _rows(
    _of("taskmanagers"),
    taskmanager_id=st.sampled_from(["tm-1", "tm-2"]),
    ts=instants,
    commit_seq=st.integers(1, 2),
    metaspace_used_bytes=sizes,
    gc_ms=st.none() | st.integers(0, 3),
)
SNAPSHOTS = st.lists(
    st.fixed_dictionaries(
        {
            "metadata_path": st.sampled_from(
                [
                    f"file:/c/{JOB}/chk-1/_metadata",
                    f"file:/c/{JOB}/chk-2/_metadata",
                    "file:/s/_metadata",
                ]
            ),
            "metadata_bytes": st.just(9),
            "metadata_modified": perhaps_instants,
            "reader_version": st.just(1),
            "owner_id": st.sampled_from([None, JOB]),
            "checkpoint_id": numbers,
            "state_bytes": sizes,
            "is_savepoint": flags,
            "observed_at": late,
        }
    ),
    max_size=4,
    unique_by=lambda row: (row["metadata_path"], row["metadata_modified"]),
).map(lambda rows: [{name: row[name] for name in sorted(row)} for row in rows])

PARTS_OF_NEWS: Mapping[str, Rows] = {
    "answers": ANSWERS,
    "checkpoints": CHECKPOINTS,
    "vertex_checkpoints": PARTS,
    "events": EVENTS,
    "exceptions": FAILURES,
    "placements": PLACEMENTS,
    "vertex_starts": STARTS,
    "vertex_gauges": GAUGES,
    "uploads": UPLOADED,
    "snapshots": SNAPSHOTS,
    "taskmanagers": TASKMANAGERS,
}


def _news(parts: dict[str, list[dict[str, Any]]]) -> JobUpdate:
    return JobUpdate("c", JOB, **parts)


NEWS: st.SearchStrategy[JobUpdate] = st.fixed_dictionaries(dict(PARTS_OF_NEWS)).map(_news)
