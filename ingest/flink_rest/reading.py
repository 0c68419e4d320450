from dataclasses import replace

from ingest.cluster_run import ClusterRun
from ingest.flink_rest import thread_dumps
from ingest.flink_rest.collector import collect_cluster
from ingest.flink_rest.history_server import read_history
from ingest.source_read import SourceRead


async def read_jobmanager(run: ClusterRun) -> SourceRead:
    cluster, shard = run.cluster, run.shard
    collected = await collect_cluster(
        cluster,
        run.cursor_of("rest"),
        shard.at,
        limits=shard.limits,
        gate=shard.gates.of(cluster.url),
        cycle_s=shard.cycle_s,
    )
    run.rest, run.reachable = collected, collected.reachable
    run.requests += collected.requests
    return SourceRead(collected.observed, collected.cursor, error=collected.error)


async def read_history_server(run: ClusterRun) -> SourceRead:
    async with run.client(run.cluster.history_url) as client:
        archives = await read_history(
            client, run.cluster.name, run.cursor_of("history"), run.shard.at
        )
    return replace(archives, reachable=archives.reachable is not False)


async def request_thread_dumps(run: ClusterRun) -> None:
    async with run.client(run.cluster.url) as client:
        run.outcome["thread_dumps"] = await thread_dumps.request(
            client, run.cluster.thread_dumps, run.shard.at
        )
