"""The store of a cluster's logs, and a client for it."""

from ingest.flink_rest.client import RestClient
from ingest.flink_rest.gate import Gate
from ingest.log_stores.elasticsearch import Elasticsearch
from ingest.log_stores.loki import Loki
from ingest.log_stores.pages import Store
from ingest.sources import LogStoreSource, Tls

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024


def store_of(source: LogStoreSource) -> Store:
    match source.kind:
        case "loki":
            return Loki(source.query)
        case "opensearch":
            return Elasticsearch(source.index, source.query, "OpenSearch")
        case "elasticsearch":
            return Elasticsearch(source.index, source.query)


def client_of(source: LogStoreSource, tls: Tls, gate: Gate | None = None) -> RestClient:
    """Signs in as the store's settings say, never as the cluster does."""
    return RestClient(
        source.url,
        auth=source.auth,
        tls=tls,
        request_timeout_s=TIMEOUT_S,
        max_response_bytes=MAX_ANSWER_BYTES,
        gate=gate,
        headers={"X-Scope-OrgID": source.tenant} if source.tenant else None,
        lenient=True,
    )
