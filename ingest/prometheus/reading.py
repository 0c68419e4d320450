"""What one cycle asks the Prometheus of a cluster: what is new, and a part of what it holds of the
time before.
"""

from dataclasses import replace

from ingest.cluster_run import ClusterRun
from ingest.prometheus.client import prometheus_client
from ingest.prometheus.collector import SOURCE, read_metrics
from ingest.prometheus.history import HistoryBudget, progress_in, read_history
from ingest.prometheus.names import HISTORY


async def read_prometheus(run: ClusterRun) -> None:
    """History only where it was begun when the Prometheus was new here: what was read as the
    present is not read again as history.
    """
    if (prometheus := run.cluster.prometheus) is None:
        return
    is_new = not run.part(SOURCE)
    try:
        async with run.asking(
            prometheus_client(run.cluster, prometheus, run.shard.gates.of(prometheus.url))
        ) as client:
            metrics = await read_metrics(client, run.cluster, run.part(SOURCE), run.shard.at)
            run.take(SOURCE, replace(metrics, reachable=metrics.reachable is not False))
            if metrics.reachable and (is_new or progress_in(run.part(HISTORY))):
                budget = HistoryBudget().share(run.shard.count(lambda cluster: cluster.prometheus))
                run.take(
                    HISTORY,
                    await read_history(client, run.cluster, run.part(HISTORY), metrics, budget),
                )
    finally:
        run.outcome["metrics_history"] = progress_in(run.part(HISTORY))
