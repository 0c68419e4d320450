import asyncio
from dataclasses import replace

from ingest.cluster_run import ClusterRun, Shard
from ingest.due import still_waits, waiting
from ingest.flink_logs import endpoint, tail
from ingest.flink_logs.endpoint import Transfer
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.records import Observed, Skip
from ingest.source_read import SourceRead

SHARD_LOG_BYTES = 512 * 1024 * 1024

LEAST_LOG_BYTES = 4 * 1024 * 1024

SHARD_ENDPOINT_BYTES = 256 * 1024 * 1024

LOG_ENDPOINT_TIMEOUT_S = 45.0

NO_ENDPOINT_AGAIN_AFTER_S = 900


def read_files(run: ClusterRun) -> SourceRead:
    logs, at = run.cluster.logs, run.shard.at()
    share_bytes = max(LEAST_LOG_BYTES, SHARD_LOG_BYTES // len(run.shard.runs))
    bounded = replace(logs, max_bytes_per_cycle=min(logs.max_bytes_per_cycle, share_bytes))
    source_read = tail.read_new(bounded, run.cluster.name, run.cursor_of("logs"), at)
    skips = (Observed(run.cluster.name, at, "log", source_read.skips),) if source_read.skips else ()
    return SourceRead((*source_read.observed, *skips), source_read.cursor)


async def read_endpoint(run: ClusterRun) -> SourceRead | None:
    cursor, now = run.cursor_of(endpoint.SOURCE), run.shard.at()
    if still_waits(cursor, now):
        return None
    transfer = run.shard.shared(_transfers)[run.cluster.name]
    later_cursor = {**cursor, **waiting(now, NO_ENDPOINT_AGAIN_AFTER_S)}
    async with run.client(run.cluster.url) as client:
        try:
            listing = await client.get("/jobmanager/logs")
            async with asyncio.timeout(LOG_ENDPOINT_TIMEOUT_S):
                return await endpoint.read_new(
                    run.cluster.logs,
                    run.cluster.name,
                    listing,
                    client.stream,
                    cursor,
                    now,
                    transfer,
                )
        except (BadAnswer, Unanswered) as error:
            skip = Skip("/jobmanager/logs", error.reason, str(error))
            return SourceRead(
                (),
                later_cursor if isinstance(error, BadAnswer) else cursor,
                (skip,) if error.reason != "not_found" else (),
            )
        except TimeoutError:
            detail = (
                f"Its log files were not delivered within {LOG_ENDPOINT_TIMEOUT_S:g} s; "
                "reading continues from the last position."
            )
            return SourceRead((), later_cursor, (Skip("/jobmanager/logs", "timeout", detail),))


def _transfers(shard: Shard) -> dict[str, Transfer]:
    """Cluster → budget: one half is for clusters that have waited longer."""
    runs = sorted(shard.runs, key=lambda run: run.cursor_of(endpoint.SOURCE).get("due_at", 0))
    halves = [Transfer(SHARD_ENDPOINT_BYTES // 2), Transfer(SHARD_ENDPOINT_BYTES // 2)]
    return {run.cluster.name: halves[2 * rank // len(runs)] for rank, run in enumerate(runs)}
