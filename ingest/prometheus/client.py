"""Requests to a Prometheus, or to what speaks its HTTP API: signed in as it asks, never with what
is the cluster's own.
"""

from ingest.flink_rest.client import OnAnswer, RestClient
from ingest.flink_rest.gate import Gate
from ingest.sources import ClusterSource, PrometheusSource, Tls

TENANT_HEADERS = ("X-Scope-OrgID", "THANOS-TENANT")
"""Of Mimir and Cortex, and Thanos' default; each ignores the other's."""


def prometheus_client(
    source: ClusterSource,
    prometheus: PrometheusSource,
    gate: Gate | None = None,
    on_answer: OnAnswer | None = None,
) -> RestClient:
    return RestClient(
        prometheus.url,
        auth=prometheus.auth,
        tls=Tls(prometheus.ca_file),
        request_timeout_s=source.request_timeout_s,
        max_response_bytes=source.max_response_bytes,
        gate=gate,
        on_answer=on_answer,
        headers=dict.fromkeys(TENANT_HEADERS, prometheus.tenant) if prometheus.tenant else None,
        # Stores behind the same interface hand labels on as they came: one that is no UTF-8 costs
        # no other series.
        lenient=True,
    )
