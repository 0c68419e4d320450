"""What is asked of which recording, and what is true of it.

The truth is what the lab did: ``shows`` and ``arguments`` of ``played.json`` of an incident, the
description, arguments and ``events.jsonl`` of a recording, and the tables in ``README.md`` of
``fixtures/incidents`` and ``fixtures/recordings``. A host is where Flink ran the subtask, or whose
TaskManager was slow or killed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.agents.causes import NOTHING

TM_1, TM_2, TM_3 = "flink-tm-1", "flink-tm-2", "flink-tm-3"
SEQUENCE = "Source: Sequence Source -> throttle"
TIMESTAMPS = f"{SEQUENCE} -> partition -> timestamps"
LOG, FILES = "Source: growing log", "Source: files -> Map"


@dataclass(frozen=True)
class Question:
    """``recording``: below ``tests/fixtures``. ``or_cause`` is as true as ``cause``. Any answer is
    right about a ``vertex``, ``subtask`` or ``host`` that is not given. ``job``: its recorded name,
    where several ran side by side. ``after_s``: since the first answer of Flink, where the trouble
    is over before the recording is.
    """

    recording: str
    cause: str
    vertex: str = ""
    subtask: int | None = None
    host: str = ""
    or_cause: str = ""
    job: str = ""
    after_s: float | None = None


def played(
    releases: str, name: str, cause: str, vertex: str = "", subtask: int | None = None,
    host: str = "", or_cause: str = "", job: str = "", after_s: float | None = None,
) -> Iterator[Question]:  # fmt: skip
    """One incident as each of these releases of Flink played it."""
    for release in releases.split():
        recording = f"incidents/{release}/{name}"
        yield Question(recording, cause, vertex, subtask, host, or_cause, job, after_s)


QUESTIONS = (
    Question("recordings/1.12.5/G", "full_after_savepoint"),
    Question("recordings/1.20.5/A", NOTHING),
    Question("recordings/1.20.5/B", "slow_operator", "slow-enrich"),
    Question("recordings/1.20.5/C2", "uneven_records", "slow-enrich", 0),
    Question("recordings/1.20.5/E", "failing_snapshot", "enrich", 1, TM_2),
    Question("recordings/1.20.5/F", "slow_operator", "slow-enrich"),
    Question("recordings/1.20.5/I", "lost_taskmanager"),
    Question("recordings/1.20.5/J", "failing_operator", "enrich", 1, TM_3, "external_system"),
    *played("1.20.5 2.3.0", "burst", "uneven_records", SEQUENCE, 1, job="lab-burst", after_s=125),
    *played("1.20.5 2.3.0", "busy-source", "blocked_source", SEQUENCE, 0, TM_1),
    *played("1.20.5 2.3.0", "collecting", "garbage_collection", "enrich"),
    *played("1.20.5", "declared-idle", NOTHING),
    *played("2.3.0", "declared-idle", NOTHING, job="lab-declared-idle"),
    *played("2.3.0", "declared-idle", "idle_partition", TIMESTAMPS, 1, job="lab-idle-partition"),
    *played("2.3.0", "declared-idle", "uneven_state", "enrich", 1, TM_2, job="lab-hot-state"),
    *played("1.20.5", "dying-pods", "memory_of_containers"),
    *played("1.20.5", "dying-taskmanagers", "taskmanagers_end"),
    *played("1.20.5 2.3.0", "expired", "slow_operator", "enrich"),
    *played("2.3.0", "failed-before", "known_job", or_cause="failing_operator"),
    *played("1.20.5 2.3.0", "few-buffers", "few_network_buffers"),
    *played("1.20.5", "gone-input", "unread_input"),
    *played(
        "1.20.5 2.3.0", "growing-lag", "lagging_source", LOG, job="lab-growing-lag", after_s=420
    ),
    *played("1.20.5 2.3.0", "growing-lag", "dead_split", LOG, 2, job="lab-dead-split"),
    *played("1.20.5 2.3.0", "growing-lag", NOTHING, job="lab-quiet"),
    *played("1.20.5", "hot-state", "uneven_state", "enrich", 1, TM_2, job="lab-hot-state"),
    *played("1.20.5", "idle-partition", "idle_partition", TIMESTAMPS, 1),
    *played("1.20.5 2.3.0", "large-state", NOTHING),
    *played("1.17.2 2.1.1", "late-sync", "slow_synchronous_part", "enrich", 0, job="lab-late-sync"),
    *played("1.17.2 2.1.1", "late-sync", "slow_asynchronous_part", "enrich", job="lab-late-async"),
    *played("1.20.5 2.3.0", "leaking", "leak", or_cause="failing_operator"),
    *played("1.20.5 2.3.0", "lost-checkpoint", "lost_checkpoint_file"),
    *played("1.20.5 2.3.0", "lost-file", "lost_checkpoint_file"),
    *played("1.20.5", "lost-handle", "broken_jobmanager_store"),
    *played("1.20.5", "lost-taskmanager", "lost_taskmanager", host=TM_1, after_s=60),
    *played("1.20.5 2.3.0", "main-throws", "failing_program"),
    *played("1.20.5 2.3.0", "overtaking", "slow_operator", "enrich"),
    *played("1.20.5", "refused-pods", "refused_containers"),
    *played("1.20.5", "refused-store", "store_refuses", after_s=150),
    *played("1.17.2 2.1.1", "resetting-database", "external_system", "enrich"),
    *played("1.20.5", "revoked-leader", "lost_leadership"),
    *played("1.20.5 2.3.0", "rocksdb-metrics", NOTHING),
    *played("1.20.5 2.3.0", "short-ask", "short_rpc_timeout"),
    *played("1.20.5 2.3.0", "short-transactions", "short_transactions"),
    *played("1.17.2 2.1.1", "slow-host", "slow_host", "enrich", host=TM_1),
    *played("1.17.2 2.1.1", "slow-host-unaligned", "slow_host", "enrich", host=TM_1),
    *played("1.20.5 2.3.0", "slow-network", "slow_network", "enrich"),
    *played("1.20.5 2.3.0", "slow-restore", "slow_restore", "enrich", or_cause="failing_operator"),
    *played("1.20.5 2.3.0", "slow-storage", "slow_asynchronous_part", "enrich"),
    *played("1.20.5", "slow-sync", "slow_synchronous_part", "enrich", 0, TM_1),
    *played("2.3.0", "slow-sync", "slow_synchronous_part", "enrich", 0, TM_2),
    *played("1.17.2 2.1.1", "stacked", "uneven_placement", job="lab-stacked"),
    *played("1.20.5", "storage-gone", "storage_gone"),
    *played("1.20.5", "throttled-store", "store_throttles", after_s=150),
    *played("1.20.5 2.3.0", "transactions", NOTHING),
    *played("2.3.0", "unspread", "uneven_placement", job="lab-unspread"),
    *played("1.20.5", "unretained", "unretained_checkpoints", job="lab-unretained"),
    *played("1.20.5", "unretained", "slow_synchronous_part", "enrich", 0, job="lab-hurried"),
    *played("1.20.5 2.3.0", "write-stall", "write_stall", "enrich"),
    *played("2.1.1", "begun-afresh", "lost_state"),
)
