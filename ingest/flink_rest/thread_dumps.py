from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ingest.errors import Skipped
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.collector import taskmanager_path
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.flink_rest.payloads.thread_dump import Thread, thread_dump

DUMPS_PER_CYCLE = 4
"""A dump stops all threads of a TaskManager for an instant (``dumpAllThreads`` needs a safepoint)."""


@dataclass(frozen=True, slots=True)
class ThreadDumpAnswer:
    taskmanager_id: str
    at: datetime
    threads: tuple[Thread, ...] | None = None
    error: str = ""


async def request(
    client: RestClient, taskmanager_ids: Sequence[str], at: Callable[[], datetime]
) -> tuple[ThreadDumpAnswer, ...]:
    return tuple(
        [
            await _request_dump(client, taskmanager_id, at)
            for taskmanager_id in taskmanager_ids[:DUMPS_PER_CYCLE]
        ]
    )


async def _request_dump(
    client: RestClient, taskmanager_id: str, at: Callable[[], datetime]
) -> ThreadDumpAnswer:
    try:
        threads = thread_dump(await client.get(f"{taskmanager_path(taskmanager_id)}/thread-dump"))
    except (BadAnswer, Unanswered, Skipped) as error:
        return ThreadDumpAnswer(taskmanager_id, at(), error=str(error))
    return ThreadDumpAnswer(taskmanager_id, at(), threads)
