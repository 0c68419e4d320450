"""A large JobManager log made of Flink's real templates: every second line relevant, stack traces
among them.

The same size gives the same bytes, so a copy in the temporary directory is used again.
"""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

_JOB = "26eb676de8b3e133f9078fabe3704eb6"
_GRAPH = "a932b3badd0047fc56bb20dcdd6164f3"
_VERTICES = (
    ("Source: clicks", "a0bcbe636c3291fd3f45c25deb2b0823"),
    ("parse", "06fde38ae8925b8dddc6df94592dce84"),
    ("enrich", "9c32e3838cee893dbb2fc90ccad79598"),
    ("sink-writer -> discard: Writer", "df907be269c81c88ec25a3e92e2fd09f"),
)
_TRACE = """org.apache.flink.util.SerializedThrowable: org.apache.flink.runtime.checkpoint.CheckpointException: Asynchronous task checkpoint failed.
\tat org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable.handleExecutionException(AsyncCheckpointRunnable.java:320) ~[flink-dist-1.20.5.jar:1.20.5]
\tat org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable.run(AsyncCheckpointRunnable.java:155) ~[flink-dist-1.20.5.jar:1.20.5]
\tat java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1136) [?:?]
Caused by: org.apache.flink.util.SerializedThrowable: java.lang.Exception: Could not materialize checkpoint {n} for operator enrich (2/4)#0.
\tat org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable.handleExecutionException(AsyncCheckpointRunnable.java:298) ~[flink-dist-1.20.5.jar:1.20.5]
\t... 4 more
Caused by: org.apache.flink.util.SerializedThrowable: java.io.IOException: could not flush to checkpoint storage
\tat org.apache.flink.runtime.state.PartitionableListState.write(PartitionableListState.java:119) ~[flink-dist-1.20.5.jar:1.20.5]
\t... 3 more
"""
_CC = "INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - "
_CC_WARN = "WARN  org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - "
_EG = "INFO  org.apache.flink.runtime.executiongraph.ExecutionGraph       [] - "
_NOISE = (
    (
        "DEBUG org.apache.flink.runtime.heartbeat.HeartbeatManagerImpl     [] - Received "
        "heartbeat request from {e}.\n"
    ),
    (
        "INFO  org.apache.flink.runtime.source.coordinator.SourceCoordinator [] - Marking "
        "checkpoint "
        "{n} as completed for source clicks.\n"
    ),
    (
        "INFO  org.apache.flink.runtime.checkpoint.CheckpointRequestDecider  [] - checkpoint "
        "request "
        "time in queue: {n}\n"
    ),
    _EG + "Discarding the results produced by task execution {e}.\n",
    (
        "DEBUG org.apache.flink.runtime.checkpoint.CheckpointsCleaner       [] - Clean checkpoint "
        "{n} "
        "parallel-mode=true shouldDiscard=true\n"
    ),
    (
        "INFO  org.apache.flink.runtime.rest.handler.job.JobDetailsHandler  [] - Served the "
        "details of job "
    )
    + _JOB
    + " to reader {n}.\n",
)


def generated_log(megabytes: int) -> Path:
    """Path of the log with (a little more than) so many megabytes."""
    path = (
        Path(tempfile.gettempdir())
        / f"weir-bench-{megabytes}mb-v3"
        / "flink-standalonesession-0-bench.log"
    )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8", newline="\n") as out:
            for block in _blocks(megabytes * 1_000_000):
                out.write(block)
        unfinished.rename(path)
    return path


def _blocks(wanted_bytes: int) -> Iterator[str]:
    written, checkpoint = 0, 1
    at = datetime(2026, 11, 21, tzinfo=UTC)
    while written < wanted_bytes:
        lines = []
        for _ in range(200):
            at += timedelta(seconds=1)
            lines += _round(checkpoint, at)
            checkpoint += 1
        block = "".join(lines)
        written += len(block)
        yield block


def _round(n: int, at: datetime) -> list[str]:
    """One second of a busy cluster: a checkpoint and what surrounds it, each relevant line followed
    by noise.
    """
    second = at.strftime("%Y-%m-%d %H:%M:%S")
    name, vertex = _VERTICES[n % 4]
    execution = f"{_GRAPH}_{vertex}_{n % 4}_{n % 7}"
    where = f"tm-{n % 3}:44649-d1a57{n % 3} @ flink-tm-{n % 3} (dataPort=44467)"
    relevant = [
        f"{_CC}Triggering checkpoint {n} (type=CheckpointType{{name='Checkpoint', "
        f"sharingFilesStrategy=FORWARD_BACKWARD}}) "
        f"@ {int(at.timestamp() * 1000)} for job {_JOB}.\n",
        f"{_EG}{name} ({n % 4 + 1}/4) ({execution}) switched from DEPLOYING to INITIALIZING.\n",
        f"{_EG}{name} ({n % 4 + 1}/4) ({execution}) switched from INITIALIZING to RUNNING.\n",
        f"{_EG}Deploying {name} ({n % 4 + 1}/4) (attempt #{n % 7}) with attempt id {execution} and "
        f"vertex id {vertex}_{n % 4} "
        f"to {where} with allocation id {_JOB}\n",
    ]
    if n % 10 == 3:
        relevant.append(
            f"{_CC}Decline checkpoint {n} by task {execution} of job {_JOB} at {where}.\n"
            + _TRACE.replace("{n}", str(n))
        )
    elif n % 10 == 6:
        relevant.append(f"{_CC}Checkpoint {n} of job {_JOB} expired before completing.\n")
        relevant.append(
            f"{_CC_WARN}Received late message for now expired checkpoint attempt {n} from task "
            f"{execution} of job {_JOB} at {where}.\n"
        )
    else:
        relevant.append(
            f"{_CC}Completed checkpoint {n} for job {_JOB} ({1058577 + n} bytes, "
            "checkpointDuration=230 ms, finalizationTime=12 ms).\n"
        )
    lines = []
    for index, text in enumerate(relevant):
        lines.append(f"{second},{index * 2:03d} {text}")
        lines.append(
            f"{second},{index * 2 + 1:03d} "
            + _NOISE[(n + index) % len(_NOISE)].format(n=n, e=execution)
        )
    return lines
