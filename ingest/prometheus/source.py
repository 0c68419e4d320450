from ingest.source_declaration import Setting, Source, Turn

SOURCES = (
    Source(
        "prometheus",
        Turn.METRICS,
        "ingest.prometheus.collector:read_prometheus",
        applies=lambda run: run.cluster.prometheus,
        settings=(Setting("prometheus_url", "address", "--prometheus"),),
        suffices=True,
        subject="Prometheus",
        probe="ingest.prometheus.probe:probe",
    ),
)
