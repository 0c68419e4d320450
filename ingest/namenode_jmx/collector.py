from ingest.cluster_run import ClusterRun
from ingest.due import still_waits, waiting
from ingest.errors import Skipped
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.namenode_jmx.beans import QUERIES, sample
from ingest.records import Observed, Skip
from ingest.source_read import SourceRead
from ingest.sources import Tls

SOURCE = "namenode_jmx"
MOST_BYTES = 4 * 1024 * 1024


def base_of(url: str) -> str:
    """The URL without the servlet's path, which people paste."""
    return url.rstrip("/").removesuffix("/jmx")


async def read_namenode(run: ClusterRun) -> SourceRead | None:
    cluster, now = run.cluster, run.shard.at()
    if still_waits(run.cursor_of(SOURCE), now):
        return None
    url, cursor = (
        base_of(cluster.settings[SOURCE + "_url"]),
        waiting(now, cluster.metrics_interval_s),
    )
    # The cluster's secret and client certificate are not sent to the NameNode.
    client = RestClient(
        url,
        tls=Tls(cluster.tls.ca_file),
        request_timeout_s=cluster.request_timeout_s,
        max_response_bytes=MOST_BYTES,
        gate=run.shard.gates.of(url),
    )
    async with run.count_requests(client):
        try:
            node_sample = sample([await client.get(query) for query in QUERIES], now)
        except (BadAnswer, Unanswered, Skipped) as error:
            subject = f"JMX of the NameNode of {cluster.name}"
            return SourceRead((), cursor, (Skip(subject, error.reason, str(error)),))
    return SourceRead((Observed(cluster.name, node_sample.ts, SOURCE, (node_sample,)),), cursor)
