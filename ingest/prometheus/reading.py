from dataclasses import replace

from ingest.cluster_run import ClusterRun
from ingest.prometheus.collector import SOURCE, prometheus_client, read_metrics
from ingest.source_read import SourceRead


async def read_prometheus(run: ClusterRun) -> SourceRead | None:
    if (prometheus := run.cluster.prometheus) is None:
        return None
    async with run.asking(
        prometheus_client(run.cluster, prometheus, run.shard.gates.of(prometheus.url))
    ) as client:
        metrics = await read_metrics(client, run.cluster, run.part(SOURCE), run.shard.at)
    return replace(metrics, reachable=metrics.reachable is not False)
