from ingest.records import Job, TaskManager, VertexGauges, VertexMetrics
from ingest.source_registry import Setting, Source, Turn

SOURCES = (
    Source(
        "prometheus",
        Turn.METRICS,
        "ingest.prometheus.reading:read_prometheus",
        wanted=lambda run: run.cluster.prometheus,
        settings=(Setting("prometheus_url", "address", "--prometheus"),),
        suffices=True,
        tables=(Job, VertexMetrics, VertexGauges, TaskManager),
    ),
)
